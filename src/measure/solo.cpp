#include "measure/solo.hpp"

#include <array>
#include <utility>

#include "base/statistics.hpp"
#include "base/text/memory_size.hpp"

namespace carpool::measure {
namespace {

constexpr double kPercent = 100.0;
constexpr double kMega = 1e6;

std::optional<double> scaled(const std::optional<double>& value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

std::optional<double> memory_of(const Measurement& run) {
  const auto& bytes = run.members.front().memory_bytes;
  return bytes ? std::optional(static_cast<double>(*bytes) / kBytesPerGiB) : std::nullopt;
}

// Metrics that the rules of KACE use keep KACE's units.
constexpr std::array<ProfileMetric, 14> kMetrics = {{
    {"sm_busy_pct", [](const Measurement& run) { return scaled(run.gpu_utilisation, kPercent); }},
    {"mem_busy_pct",
     [](const Measurement& run) { return scaled(run.memory_utilisation, kPercent); }},
    {"memcap_gb", memory_of},
    {"power_w", [](const Measurement& run) { return run.power_watts; }},
    {"graphics_active", [](const Measurement& run) { return run.activity.graphics_active; }},
    {"sm_active", [](const Measurement& run) { return run.activity.sm_active; }},
    {"sm_occupancy", [](const Measurement& run) { return run.activity.sm_occupancy; }},
    {"dram_active", [](const Measurement& run) { return run.activity.dram_active; }},
    {"tensor_active", [](const Measurement& run) { return run.activity.tensor_active; }},
    {"fp64_active", [](const Measurement& run) { return run.activity.fp64_active; }},
    {"fp32_active", [](const Measurement& run) { return run.activity.fp32_active; }},
    {"fp16_active", [](const Measurement& run) { return run.activity.fp16_active; }},
    {"pcie_read_mb_per_s",
     [](const Measurement& run) {
       return scaled(run.activity.pcie_read_bytes_per_second, 1.0 / kMega);
     }},
    {"pcie_write_mb_per_s",
     [](const Measurement& run) {
       return scaled(run.activity.pcie_write_bytes_per_second, 1.0 / kMega);
     }},
}};

}  // namespace

std::span<const ProfileMetric> profile_metrics() {
  return kMetrics;
}

SoloRuns solo_runs(std::span<const Measurement> measurements) {
  SoloRuns out;
  for (const std::string_view mechanism : {"mps", "time-slicing", "streams"}) {
    SoloRuns here;
    for (const Measurement& run : measurements) {
      if (run.mechanism != mechanism || run.failure || run.members.size() != 1) {
        continue;
      }
      const MemberResult& member = run.members.front();
      if (member.thread_percentage >= kPercent && !member.low_priority) {
        here[member.workload].push_back(&run);
      }
    }
    out.merge(here);  // keeps entries of earlier mechanisms
  }
  return out;
}

double solo_speed(const std::vector<const Measurement*>& runs) {
  std::vector<double> speeds;
  speeds.reserve(runs.size());
  for (const Measurement* run : runs) {
    speeds.push_back(run->members.front().throughput);
  }
  return quantile(std::move(speeds), 0.5);
}

}  // namespace carpool::measure
