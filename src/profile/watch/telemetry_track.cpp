#include "profile/watch/telemetry_track.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <unistd.h>
#include <utility>

#include "base/text/memory_size.hpp"

namespace carpool::profile {
namespace {

constexpr double kPercent = 100.0;
constexpr double kPerMega = 1e-6;

using ActivityField = std::optional<double> GpuActivity::*;
using PointField = std::optional<double> TelemetryPoint::*;

struct ActivityMetric {
  const char* name;
  ActivityField field;
  double scale;
};

constexpr std::array<ActivityMetric, 12> kActivityMetrics = {{
    {"graphics_active", &GpuActivity::graphics_active, 1.0},
    {"sm_active", &GpuActivity::sm_active, 1.0},
    {"sm_occupancy", &GpuActivity::sm_occupancy, 1.0},
    {"dram_active", &GpuActivity::dram_active, 1.0},
    {"tensor_active", &GpuActivity::tensor_active, 1.0},
    {"fp64_active", &GpuActivity::fp64_active, 1.0},
    {"fp32_active", &GpuActivity::fp32_active, 1.0},
    {"fp16_active", &GpuActivity::fp16_active, 1.0},
    {"pcie_read_mb_per_s", &GpuActivity::pcie_read_bytes_per_second, kPerMega},
    {"pcie_write_mb_per_s", &GpuActivity::pcie_write_bytes_per_second, kPerMega},
    {"xu_pcie_read", &GpuActivity::pcie_read_bytes_per_second, kPerMega},
    {"xu_pcie_write", &GpuActivity::pcie_write_bytes_per_second, kPerMega},
}};

struct PointMetric {
  const char* name;
  PointField field;
  double scale;
};

constexpr std::array<PointMetric, 3> kPoint = {{
    {"sm_busy_pct", &TelemetryPoint::gpu_utilisation, kPercent},
    {"mem_busy_pct", &TelemetryPoint::memory_utilisation, kPercent},
    {"power_w", &TelemetryPoint::power_watts, 1.0},
}};

// Memory of the processes of one group; nothing where the driver does not report it per process.
std::optional<double> memory_of(TelemetrySource& source, unsigned gpu, std::int64_t group) {
  const auto processes = source.processes(gpu);
  double bytes = 0.0;
  if (processes) {
    for (const GpuProcess& process : *processes) {
      if (process.memory_bytes && ::getpgid(static_cast<pid_t>(process.pid)) == group) {
        bytes += static_cast<double>(*process.memory_bytes);
      }
    }
  }
  return bytes > 0.0 ? std::optional(bytes / kBytesPerGiB) : std::nullopt;
}

}  // namespace

Result<void> TelemetryTrack::begin(std::int64_t now_ns) {
  points_.clear();
  began_ns_ = now_ns;
  return source_.begin_activity(gpu_);
}

Result<void> TelemetryTrack::take(std::int64_t now_ns, std::int64_t group) {
  const auto sample = source_.sample(gpu_);
  if (!sample) {
    return tl::unexpected(sample.error());
  }
  auto activity = source_.activity(gpu_);
  if (!activity) {
    return tl::unexpected(activity.error());
  }
  const auto own = memory_of(source_, gpu_, group);
  points_.push_back(
      {.seconds = static_cast<double>(now_ns - began_ns_) * 1e-9,
       .gpu_utilisation = sample->gpu_utilisation,
       .memory_utilisation = sample->memory_utilisation,
       .power_watts = sample->power_watts,
       .sm_clock_mhz = sample->sm_clock_mhz,
       .memory_gib =
           own ? own : std::optional(static_cast<double>(sample->memory_used_bytes) / kBytesPerGiB),
       .activity = activity->value_or(GpuActivity{})});
  return {};
}

bool TelemetryTrack::memory_changed() const {
  constexpr double kSame = 0.999;
  double least = 0.0;
  double most = 0.0;
  for (const TelemetryPoint& point : points_) {
    const double gib = point.memory_gib.value_or(most);
    least = most > 0.0 ? std::min(least, gib) : gib;
    most = std::max(most, gib);
  }
  return least < kSame * most;
}

Metrics TelemetryTrack::metrics() const {
  Metrics out;
  for (const ActivityMetric& metric : kActivityMetrics) {
    double sum = 0.0;
    double seconds = 0.0;
    for (const TelemetryPoint& point : points_) {
      if (const auto& value = point.activity.*(metric.field); value) {
        sum += *value * point.activity.span_seconds;
        seconds += point.activity.span_seconds;
      }
    }
    if (seconds > 0.0) {
      out[metric.name] = sum / seconds * metric.scale;
    }
  }
  for (const PointMetric& metric : kPoint) {
    double sum = 0.0;
    double count = 0.0;
    for (const TelemetryPoint& point : points_) {
      if (const auto& value = point.*(metric.field); value) {
        sum += *value;
        count += 1.0;
      }
    }
    if (count > 0.0) {
      out[metric.name] = sum / count * metric.scale;
    }
  }
  for (const TelemetryPoint& point : points_) {
    if (point.memory_gib) {
      out["memcap_gb"] = std::max(out["memcap_gb"], *point.memory_gib);
    }
  }
  return out;
}

std::vector<std::string> TelemetryTrack::substitute_metrics() const {
  std::set<std::string> seen;
  for (const TelemetryPoint& point : points_) {
    seen.insert(point.activity.substitute_metrics.begin(), point.activity.substitute_metrics.end());
  }
  return {seen.begin(), seen.end()};
}

}  // namespace carpool::profile
