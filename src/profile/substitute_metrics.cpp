#include "profile/substitute_metrics.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

namespace carpool::profile {
namespace {

constexpr double kWhole = 100.0;

std::optional<double> find(const Metrics& metrics, std::string_view name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

// One source of a substitute: a metric, and the factor that makes it a percentage.
struct Source {
  const Metrics& metrics;
  std::string_view name;
  double scale;
};

struct Best {
  double value = 0.0;
  std::string_view name;
};

// The largest measured value: the published "throughputs" are such maxima.
std::optional<Best> largest(std::initializer_list<Source> sources) {
  std::optional<Best> best;
  for (const Source& source : sources) {
    const auto value = find(source.metrics, source.name);
    if (value && (!best || *value * source.scale > best->value)) {
      best = Best{*value * source.scale, source.name};
    }
  }
  return best;
}

}  // namespace

void add_substitute_metrics(WorkloadProfile& profile) {
  const auto busy = largest({{profile.metrics, "gpu_busy_share", 1.0}});
  const auto engine = largest({{profile.metrics, "graphics_active", 1.0}});
  const std::optional<Best> share = busy ? busy : engine;
  if (!share || share->value <= 0.0) {
    return;
  }
  const auto fill = [&](const char* metric,
                        const std::optional<Best>& counted,
                        const std::optional<Best>& coarse) {
    const std::optional<Best>& best = counted ? counted : coarse;
    if (!best || profile.metrics.contains(metric)) {
      return;
    }
    profile.metrics[metric] = std::min(kWhole, best->value / std::min(1.0, share->value));
    profile.substitute_metrics[metric] = fmt::format("{} / {}", best->name, share->name);
  };
  const Metrics& counters = profile.counters;
  const Metrics& metrics = profile.metrics;
  const auto dram =
      largest({{counters, "dram__throughput.avg.pct_of_peak_sustained_elapsed", 1.0}});
  const auto dram_coarse = largest({{metrics, "dram_active", kWhole}});
  fill("sm_throughput_pct",
       largest({{counters, "TriageCompute.sm__throughput.avg.pct_of_peak_sustained_elapsed", 1.0},
                {counters, "sm__throughput.avg.pct_of_peak_sustained_elapsed", 1.0}}),
       largest({{metrics, "tensor_active", kWhole},
                {metrics, "fp64_active", kWhole},
                {metrics, "fp32_active", kWhole},
                {metrics, "fp16_active", kWhole}}));
  fill("dram_throughput_pct", dram, dram_coarse);
  fill("mem_throughput_pct",
       largest(
           {{counters, "dram__throughput.avg.pct_of_peak_sustained_elapsed", 1.0},
            {counters, "LTS.TriageCompute.lts__throughput.avg.pct_of_peak_sustained_elapsed", 1.0},
            {counters, "lts__throughput.avg.pct_of_peak_sustained_elapsed", 1.0},
            {counters,
             "SM_A.TriageCompute.l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
             1.0},
            {counters, "l1tex__throughput.avg.pct_of_peak_sustained_elapsed", 1.0}}),
       dram_coarse);
}

}  // namespace carpool::profile
