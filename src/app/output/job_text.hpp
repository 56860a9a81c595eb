// What `carpool show` and `carpool explain` print of the server's answers.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace carpool::app {

[[nodiscard]] std::string show_text(const nlohmann::json& job);
[[nodiscard]] std::string explain_text(const nlohmann::json& why);

}  // namespace carpool::app
