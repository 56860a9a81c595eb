// What runs alone say about a workload. Internal to measure/.
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

// By workload.
using RunsAlone = std::map<std::string, std::vector<const Measurement*>>;

// The runs alone, unlimited, of each workload: under MPS where there are any, else time slicing,
// else streams.
[[nodiscard]] RunsAlone runs_alone(std::span<const Measurement> measurements);

// Their median throughput.
[[nodiscard]] double speed_alone(const std::vector<const Measurement*>& runs);

}  // namespace carpool::measure
