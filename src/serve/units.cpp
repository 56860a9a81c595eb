#include "serve/units.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>
#include <set>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace carpool::serve {
namespace {

constexpr double kMostSeconds = 10.0 * 365.0 * 86400.0;

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return value;
}

// Takes "1.5" off the front of "1.5h".
std::optional<double> leading(std::string_view& text) {
  std::size_t used = 0;
  while (used < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[used])) != 0 || text[used] == '.')) {
    ++used;
  }
  const std::optional<double> value = number<double>(text.substr(0, used));
  text.remove_prefix(used);
  return value;
}

// 0: not a unit of time.
double seconds_in(char unit) {
  switch (unit) {
    case 's':
      return 1.0;
    case 'm':
      return 60.0;
    case 'h':
      return 3600.0;
    case 'd':
      return 86400.0;
    default:
      return 0.0;
  }
}

std::optional<double> by_units(std::string_view text) {
  double total = 0.0;
  while (!text.empty()) {
    const std::optional<double> value = leading(text);
    const double unit = text.empty() ? 0.0 : seconds_in(text.front());
    if (!value || unit == 0.0) {
      return std::nullopt;
    }
    total += *value * unit;
    text.remove_prefix(1);
  }
  return total;
}

// "[days-]hours:minutes:seconds" and "minutes:seconds", as Slurm writes them.
std::optional<double> by_colons(std::string_view text) {
  double total = 0.0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto days = number<unsigned>(text.substr(0, dash));
    if (!days) {
      return std::nullopt;
    }
    total = *days * 24.0;
    text.remove_prefix(dash + 1);
    const auto rest = by_colons(text);
    return rest ? std::optional<double>(total * 3600.0 + *rest) : std::nullopt;
  }
  double value = 0.0;
  std::size_t parts = 0;
  while (true) {
    const std::size_t colon = text.find(':');
    const auto part = number<unsigned>(text.substr(0, colon));
    if (!part || ++parts > 3) {
      return std::nullopt;
    }
    value = value * 60.0 + *part;
    if (colon == std::string_view::npos) {
      return parts > 1 ? std::optional<double>(value) : std::nullopt;
    }
    text.remove_prefix(colon + 1);
  }
}

std::optional<std::tm> read_tm(const std::string& text, const char* form, const std::tm& usual) {
  std::tm read = usual;
  const char* end = ::strptime(text.c_str(), form, &read);
  return end != nullptr && *end == '\0' ? std::optional(read) : std::nullopt;
}

// The time that it names; a day that does not exist, as February 30, names none.
std::optional<double> seconds_of(std::tm when, bool utc) {
  const int day = when.tm_mday;
  const std::time_t seconds = utc ? ::timegm(&when) : std::mktime(&when);
  return when.tm_mday == day ? std::optional(static_cast<double>(seconds)) : std::nullopt;
}

// "22:00", or a date.
std::optional<double> by_calendar(const std::string& text, double now_s) {
  const auto now = static_cast<std::time_t>(now_s);
  std::tm today{};
  if (::localtime_r(&now, &today) == nullptr) {
    return std::nullopt;
  }
  today.tm_hour = today.tm_min = today.tm_sec = 0;
  today.tm_isdst = -1;
  for (const char* form : {"%H:%M", "%H:%M:%S"}) {
    if (auto when = read_tm(text, form, today)) {
      const auto begin_s = seconds_of(*when, false);
      if (begin_s && *begin_s > now_s) {
        return begin_s;
      }
      ++when->tm_mday;
      return static_cast<double>(std::mktime(&*when));
    }
  }
  return parse_date(text);
}

}  // namespace

Result<double> parse_seconds(std::string_view text) {
  if (const auto bare = number<double>(text); bare && *bare > 0.0 && *bare <= kMostSeconds) {
    return invalid_input(
        fmt::format("{0} has no unit; write {0}d for days, {0}h for hours, {0}m for minutes or "
                    "{0}s for seconds",
                    text));
  }
  const bool colons = text.find(':') != std::string_view::npos;
  const std::optional<double> seconds = colons ? by_colons(text) : by_units(text);
  if (!seconds || text.empty() || *seconds <= 0.0 || *seconds > kMostSeconds) {
    return invalid_input(
        fmt::format("\"{}\" is not a time; write 90s, 15m, 2h, 1d or 1:30:00", text));
  }
  return *seconds;
}

Result<std::vector<int>> parse_array(std::string_view text) {
  const auto refuse = [&] {
    return invalid_input(fmt::format(
        "\"{}\" is not a list of array indices; write 0-9, 1,3,5-7 or 0-100:10, with at most {} "
        "indices",
        text,
        kMostTasks));
  };
  std::set<int> indices;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    const std::size_t colon = part.find(':');
    const auto step = colon == std::string_view::npos ? std::optional<int>(1)
                                                      : number<int>(part.substr(colon + 1));
    part = part.substr(0, colon);
    const std::size_t dash = part.find('-');
    const auto first = number<int>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number<int>(part.substr(dash + 1));
    constexpr int kLargest = 1'000'000;
    if (!step || *step < 1 || !first || !last || *first < 0 || *last < *first || *last > kLargest) {
      return refuse();
    }
    for (int index = *first; index <= *last; index += *step) {
      indices.insert(index);
      if (indices.size() > kMostTasks) {
        return refuse();
      }
    }
  }
  if (indices.empty()) {
    return refuse();
  }
  return std::vector<int>(indices.begin(), indices.end());
}

Result<std::optional<unsigned>> take_array_limit(std::string_view& text) {
  const std::size_t percent = text.find('%');
  if (percent == std::string_view::npos) {
    return std::optional<unsigned>();
  }
  const std::string_view count = text.substr(percent + 1);
  const auto limit = number<unsigned>(count);
  if (!limit || *limit == 0) {
    return invalid_input(fmt::format(
        "\"{}\" is not a number of jobs that run at once, at least 1; write 0-99%4", count));
  }
  text = text.substr(0, percent);
  return limit;
}

std::optional<double> parse_date(const std::string& text) {
  std::tm midnight{};
  midnight.tm_isdst = -1;  // mktime() finds out
  for (const char* form :
       {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"}) {
    if (const auto when = read_tm(text, form, midnight)) {
      return seconds_of(*when, false);
    }
    if (const auto when = read_tm(text, fmt::format("{}Z", form).c_str(), midnight)) {
      return seconds_of(*when, true);
    }
  }
  return std::nullopt;
}

Result<double> parse_begin(std::string_view text, double now_s) {
  constexpr std::string_view kNow = "now";
  if (text == kNow) {
    return now_s;
  }
  if (text.starts_with("now+")) {
    return parse_seconds(text.substr(kNow.size() + 1)).map([&](double seconds) {
      return now_s + seconds;
    });
  }
  if (const auto begin_s = by_calendar(std::string(text), now_s)) {
    if (*begin_s <= now_s || *begin_s > now_s + kMostSeconds) {
      return invalid_input(fmt::format("{} {}",
                                       show_time(*begin_s),
                                       *begin_s <= now_s ? "has passed; write now to start at once"
                                                         : "is more than ten years ahead"));
    }
    return *begin_s;
  }
  if (text.find(':') == std::string_view::npos && parse_seconds(text)) {
    return invalid_input(fmt::format("\"{0}\" is not a time to begin at; write now+{0}", text));
  }
  return invalid_input(fmt::format(
      "\"{}\" is not a time; write now+2h, 22:00, 2026-11-17 or 2026-11-17T08:00", text));
}

Result<std::string> begin_in_utc(const std::string& text, double now_s) {
  return parse_begin(text, now_s).map([&](double begin_s) {
    return text.starts_with("now") ? text
                                   : fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                                 fmt::gmtime(static_cast<std::time_t>(begin_s)));
  });
}

std::string show_bytes(std::uint64_t bytes) {
  if (bytes == 0) {
    return "0";
  }
  static constexpr std::array<char, 4> kUnits = {'K', 'M', 'G', 'T'};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  value /= 1024.0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f}{}", value, kUnits[unit]);
}

std::string show_seconds(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, std::floor(seconds)));
  const std::int64_t days = whole / 86400;
  const std::int64_t hours = whole / 3600 % 24;
  const std::int64_t minutes = whole / 60 % 60;
  if (days > 0) {
    return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, whole % 60);
  }
  if (hours > 0) {
    return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  }
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string show_rate(double per_second) {
  constexpr double kThreeDigits = 100.0;
  return per_second < kThreeDigits ? fmt::format("{:.3g}", per_second)
                                   : fmt::format("{:.0f}", per_second);
}

std::string show_time(double since_1970_s) {
  const auto whole = static_cast<std::time_t>(since_1970_s);
  std::tm local{};
  if (::localtime_r(&whole, &local) == nullptr) {
    return fmt::format("{:.0f}", since_1970_s);
  }
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

std::string show_zoned_time(double since_1970_s) {
  const auto whole = static_cast<std::time_t>(since_1970_s);
  std::tm local{};
  return ::localtime_r(&whole, &local) == nullptr ? show_time(since_1970_s)
                                                  : fmt::format("{:%Y-%m-%d %H:%M:%S %z}", local);
}

}  // namespace carpool::serve
