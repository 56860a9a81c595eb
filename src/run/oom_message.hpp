// The sizes in a line that tells of GPU memory that was not there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace carpool::run {

// What was asked for in vain; empty: the line does not say.
[[nodiscard]] std::optional<std::uint64_t> told_wanted(std::string_view line);
// What the process held then.
[[nodiscard]] std::optional<std::uint64_t> told_held(std::string_view line);

}  // namespace carpool::run
