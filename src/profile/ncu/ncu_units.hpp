// Numbers and units in the format of Nsight Compute. Internal to profile/.
#pragma once

#include <optional>
#include <string_view>

namespace carpool::profile {

// Accepts "1,234.5". Nothing if the text is not a number.
[[nodiscard]] std::optional<double> parse_ncu_number(std::string_view text);

// The factor from this unit to seconds, bytes or plain numbers: 1e-6 for "us" and "usecond", 1000
// for "Kbyte/block", 1 for "%", "register/thread" and "". Nothing for an unknown unit.
[[nodiscard]] std::optional<double> ncu_unit_scale(std::string_view unit);

}  // namespace carpool::profile
