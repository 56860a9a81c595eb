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

constexpr std::size_t kMostTasks = 10'000;
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

}  // namespace

Result<double> parse_seconds(std::string_view text) {
  if (const auto bare = number<double>(text); bare && *bare > 0.0 && *bare <= kMostSeconds) {
    return invalid_input(
        fmt::format("{0} what? write {0}h for hours, {0}m for minutes or {0}s for seconds", text));
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

std::string show_bytes(std::uint64_t bytes) {
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

std::string show_time(double since_1970_s) {
  const auto whole = static_cast<std::time_t>(since_1970_s);
  std::tm local{};
  if (::localtime_r(&whole, &local) == nullptr) {
    return fmt::format("{:.0f}", since_1970_s);
  }
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

}  // namespace carpool::serve
