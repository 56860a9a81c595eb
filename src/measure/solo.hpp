// Solo runs: speed and metrics of each workload without other members. Internal to measure/.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/result.hpp"

namespace carpool::measure {

struct ProfileMetric {
  std::string_view name;  // column of profiles.csv; one of known_metrics()
  std::optional<double> (*read)(const Measurement&);
};

[[nodiscard]] std::span<const ProfileMetric> profile_metrics();

// Workload → its solo runs.
using SoloRuns = std::map<std::string, std::vector<const Measurement*>>;

// The solo runs without limits of each workload: under MPS if there are any, else time slicing,
// else streams.
[[nodiscard]] SoloRuns solo_runs(std::span<const Measurement> measurements);

// The median throughput of the runs.
[[nodiscard]] double solo_speed(const std::vector<const Measurement*>& runs);

}  // namespace carpool::measure
