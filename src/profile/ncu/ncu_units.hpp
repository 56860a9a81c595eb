// Numbers and units as Nsight Compute prints them. Internal to profile/.
#pragma once

#include <optional>
#include <string_view>

namespace carpool::profile {

// "1,234.5" too; nothing for what is no number.
[[nodiscard]] std::optional<double> parse_ncu_number(std::string_view text);

// What a value in this unit is to be multiplied with for seconds, bytes, or plain numbers: 1e-6 of
// "us" and "usecond", 1000 of "Kbyte/block", 1 of "%", "register/thread" and "". Nothing for a unit
// that is not known.
[[nodiscard]] std::optional<double> ncu_unit_scale(std::string_view unit);

}  // namespace carpool::profile
