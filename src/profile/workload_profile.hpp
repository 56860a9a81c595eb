// The stored profile of one workload: NAME.profile.json and NAME.kernels.csv.gz
// (docs/profiling.md).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "profile/metric_names.hpp"
#include "profile/steps/step_estimate.hpp"
#include "profile/watch/telemetry_track.hpp"

namespace carpool::profile {

inline constexpr std::string_view kProfileSuffix = ".profile.json";
inline constexpr std::string_view kKernelsSuffix = ".kernels.csv.gz";

struct ProfiledThroughput {
  double value = 0.0;
  std::string unit;    // "units/s", "steps/s", "launches/s"
  std::string source;  // of step_estimate.hpp
};

struct WorkloadProfile {
  std::string workload;
  std::vector<std::string> command;
  std::string gpu;
  std::string driver;
  std::string recorded;          // UTC
  double startup_seconds = 0.0;  // before the window
  double window_seconds = 0.0;
  // How much longer its steps took in the window than afterwards, without profiling: 0.03 is 3 %.
  std::optional<double> slowdown;
  std::optional<ProfiledThroughput> throughput;  // absent: no source of steps
  std::vector<StepEstimate> steps;               // one per source; the used one first
  Metrics metrics;
  std::map<std::string, std::string> substitute_metrics;  // metric → its source
  Metrics counters;                                       // of --counters, by NVIDIA's name
  Metrics ncu;                                            // of --ncu, weighted by time
  std::vector<TelemetryPoint> timeline;
  std::vector<std::string> notes;
};

[[nodiscard]] std::string profile_json(const WorkloadProfile& profile);

// Errors name the file, the key and what was expected.
[[nodiscard]] Result<WorkloadProfile> parse_profile(std::string_view text, const std::string& file);
[[nodiscard]] Result<WorkloadProfile> load_profile(const std::filesystem::path& path);

// Writes both files or neither; only the JSON without kernels. Returns the path of the JSON.
[[nodiscard]] Result<std::filesystem::path> save_profile(const WorkloadProfile& profile,
                                                         std::string_view kernels_csv,
                                                         const std::filesystem::path& folder);

// At most 100 letters, digits, '.', '_' and '-'; not starting with '.'.
[[nodiscard]] bool is_profile_name(std::string_view name);

}  // namespace carpool::profile
