// GPU sensor readings over time, and their means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/telemetry_source.hpp"
#include "profile/metric_names.hpp"
#include "profile/steps/time_window.hpp"

namespace carpool::profile {

// One reading; unknown values are absent.
struct TelemetryPoint {
  double seconds = 0.0;  // since the window opened
  std::optional<double> gpu_utilisation{};
  std::optional<double> memory_utilisation{};
  std::optional<double> power_watts{};
  std::optional<double> sm_clock_mhz{};
  std::optional<double> memory_gib{};  // of the program, else of the GPU
  GpuActivity activity{};              // since the previous reading
};

// Used by one thread.
class TelemetryTrack {
 public:
  TelemetryTrack(TelemetrySource& source, unsigned gpu) : source_(source), gpu_(gpu) {}

  // Opens the window; sensor values gathered before are dropped.
  [[nodiscard]] Result<void> begin(std::int64_t now_ns);

  // Takes one reading. `group` is the process group whose memory counts.
  [[nodiscard]] Result<void> take(std::int64_t now_ns, std::int64_t group);

  [[nodiscard]] const std::vector<TelemetryPoint>& points() const { return points_; }

  // The program's memory was not constant.
  [[nodiscard]] bool memory_changed() const;

  // Metrics of groups system and gpm, weighted by span length.
  [[nodiscard]] Metrics metrics() const;

  // Values taken from a coarser counter (GpuActivity::substitute_metrics).
  [[nodiscard]] std::vector<std::string> substitute_metrics() const;

 private:
  TelemetrySource& source_;
  unsigned gpu_;
  std::int64_t began_ns_ = 0;
  std::vector<TelemetryPoint> points_;
};

}  // namespace carpool::profile
