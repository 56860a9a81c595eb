// The environment of a job that is submitted from here.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::app {

// That of this process, without variables of the session.
[[nodiscard]] nlohmann::json current_environment();
// Adds NAME=VALUE, or NAME for a variable that is set here.
[[nodiscard]] Result<void> add_variable(nlohmann::json& env, const std::string& text);

}  // namespace carpool::app
