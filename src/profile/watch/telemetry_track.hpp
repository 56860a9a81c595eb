// What the GPU's sensors say while a program runs: over time, and its means.
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

// One reading; what is absent was not told.
struct TelemetryPoint {
  double seconds = 0.0;  // since the window opened
  std::optional<double> gpu_utilisation{};
  std::optional<double> memory_utilisation{};
  std::optional<double> power_watts{};
  std::optional<double> sm_clock_mhz{};
  std::optional<double> memory_gib{};  // of the program's processes, else of the GPU
  GpuActivity activity{};              // since the reading before
};

// Used by one thread.
class TelemetryTrack {
 public:
  TelemetryTrack(TelemetrySource& source, unsigned gpu) : source_(source), gpu_(gpu) {}

  // The window opens: what the sensors have gathered before is let go.
  [[nodiscard]] Result<void> begin(std::int64_t now_ns);

  // One more reading. `group` is the process group whose memory counts.
  [[nodiscard]] Result<void> take(std::int64_t now_ns, std::int64_t group);

  [[nodiscard]] const std::vector<TelemetryPoint>& points() const { return points_; }

  // The program's memory was not the same all the time.
  [[nodiscard]] bool memory_changed() const;

  // Groups system and gpm; weighted by the length of the spans.
  [[nodiscard]] Metrics metrics() const;

  // Values that a coarser counter stands in for, as the source tells.
  [[nodiscard]] std::vector<std::string> substitute_metrics() const;

 private:
  TelemetrySource& source_;
  unsigned gpu_;
  std::int64_t began_ns_ = 0;
  std::vector<TelemetryPoint> points_;
};

}  // namespace carpool::profile
