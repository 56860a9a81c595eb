// What `carpool show`, `carpool explain` and `carpool submit --dry-run` print of the server's
// answers.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace carpool::app {

[[nodiscard]] std::string show_text(const nlohmann::json& job);
[[nodiscard]] std::string explain_text(const nlohmann::json& why);
// `estimate`: what `carpool submit` estimated, for people; may be empty.
[[nodiscard]] std::string dry_run_text(const nlohmann::json& answer, std::string_view estimate);

}  // namespace carpool::app
