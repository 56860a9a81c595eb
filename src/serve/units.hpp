// Times, sizes and index lists as text: "2h", "1-12:00:00", "12.0G", "0-9".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace carpool::serve {

// Seconds from "30s", "15m", "2h", "1d", "1h30m", "1:30:00", "2-00:00:00". A number
// without a unit is an error: 2 may be meant as hours.
[[nodiscard]] Result<double> parse_seconds(std::string_view text);
// "0-9", "1,3,5-7", "0-100:10"; at most 10,000.
inline constexpr std::size_t kMostTasks = 10'000;  // jobs of one array
[[nodiscard]] Result<std::vector<int>> parse_array(std::string_view text);
// Takes "%4", how many jobs of an array may run at once, off the end of "0-99%4"; empty: all may.
[[nodiscard]] Result<std::optional<unsigned>> take_array_limit(std::string_view& text);

// Seconds since 1970 from "2026-11-17", "2026-11-17 08:00", "2026-11-17T08:00" and
// "2026-11-17T07:00:00Z"; without Z by the local clock. Empty: it is not a date.
[[nodiscard]] std::optional<double> parse_date(const std::string& text);

// Seconds since 1970 from "now", "now+2h", "22:00" (today, or tomorrow where that has passed) and
// dates. `now_s`: the present. A date that has passed is an error.
[[nodiscard]] Result<double> parse_begin(std::string_view text, double now_s);
// The same time for a reader in another time zone; "now+2h" stays.
[[nodiscard]] Result<std::string> begin_in_utc(const std::string& text, double now_s);

[[nodiscard]] std::string show_bytes(std::uint64_t bytes);  // "12.0G"
[[nodiscard]] std::string show_seconds(double seconds);     // "1-02:03:04", "2:03:04", "0:07"
[[nodiscard]] std::string show_rate(double per_second);     // "1430", "14.3", "0.014"
[[nodiscard]] std::string show_time(double since_1970_s);   // "2026-11-16 19:30:07", local time
// The same with its time zone, "2026-11-16 19:30:07 +0100", for readers who may be in another.
[[nodiscard]] std::string show_zoned_time(double since_1970_s);

}  // namespace carpool::serve
