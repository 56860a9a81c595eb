// The library's settings in the environment.
#pragma once

#include <cstdint>
#include <string_view>

namespace carpool::interpose {

// Empty if it is not set.
[[nodiscard]] std::string_view setting(const char* name);
// `otherwise` if it is not a number.
[[nodiscard]] std::uint64_t number_setting(const char* name, std::uint64_t otherwise);

}  // namespace carpool::interpose
