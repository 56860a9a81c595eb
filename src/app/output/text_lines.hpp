// Lines of what the commands say of one job: a name and a value.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace carpool::app {

// Nothing for an empty value.
void add_line(std::string& text, std::string_view name, std::string_view value);

// "12.0G"; empty without the key.
[[nodiscard]] std::string bytes_at(const nlohmann::json& object, const char* key);

}  // namespace carpool::app
