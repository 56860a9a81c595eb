// The sensor readings of a profile as JSON, one list per sensor. Internal to profile/.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "profile/watch/telemetry_track.hpp"

namespace carpool::profile {

// Rounded to five digits, more than sensors resolve.
[[nodiscard]] double shortened(double value);

// A missing value is null; a sensor without values is left out.
[[nodiscard]] nlohmann::json timeline_to_json(const std::vector<TelemetryPoint>& points);

[[nodiscard]] Result<std::vector<TelemetryPoint>> timeline_from_json(const nlohmann::json& columns);

}  // namespace carpool::profile
