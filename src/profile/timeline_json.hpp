// The sensors' readings of a profile as JSON: one list a sensor. Internal to profile/.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "profile/watch/telemetry_track.hpp"

namespace carpool::profile {

// A value in as many digits as sensors have.
[[nodiscard]] double shortened(double value);

// A value that one reading lacks is null, a sensor that never told is left out.
[[nodiscard]] nlohmann::json timeline_to_json(const std::vector<TelemetryPoint>& points);

// The error's message continues "the profile …".
[[nodiscard]] Result<std::vector<TelemetryPoint>> timeline_from_json(const nlohmann::json& columns);

}  // namespace carpool::profile
