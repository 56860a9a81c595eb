// A measurement as JSON and back. Internal to measure/.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "measure/result.hpp"

namespace carpool::measure {

[[nodiscard]] nlohmann::json to_json_object(const Measurement& measurement);

// Throws, as the JSON library does, on a missing, mistyped or impossible value.
[[nodiscard]] Measurement measurement_from(const nlohmann::json& object);

}  // namespace carpool::measure
