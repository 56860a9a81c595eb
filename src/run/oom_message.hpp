// The sizes in the message of a failed allocation of GPU memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace carpool::run {

// The allocation that failed; empty: the message does not say.
[[nodiscard]] std::optional<std::uint64_t> oom_wanted(std::string_view line);
// What the process held at that time.
[[nodiscard]] std::optional<std::uint64_t> oom_held(std::string_view line);

}  // namespace carpool::run
