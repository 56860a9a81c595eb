// A time in the past as people write it: "7d" ago, or a date.
#pragma once

#include <string>

#include "base/result.hpp"

namespace carpool::app {

// Seconds since 1970 from "7d", "12h" (before `now_s`), "2026-11-01", "2026-11-01 12:30" or
// "2026-11-01T12:30:00", local time.
[[nodiscard]] Result<double> parse_since(const std::string& text, double now_s);

}  // namespace carpool::app
