#include "app/inputs/since_time.hpp"

#include <ctime>
#include <optional>

#include <fmt/format.h>

#include "serve/units.hpp"

namespace carpool::app {
namespace {

// Local time in this form, all of it.
std::optional<double> date_as(const std::string& text, const char* form) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), form, &parts);
  if (end == nullptr || *end != '\0') {
    return std::nullopt;
  }
  const int day = parts.tm_mday;
  parts.tm_isdst = -1;
  const std::time_t seconds = std::mktime(&parts);
  // mktime() turns 31 June into 1 July.
  return seconds == -1 || parts.tm_mday != day ? std::nullopt
                                               : std::optional(static_cast<double>(seconds));
}

}  // namespace

Result<double> parse_since(const std::string& text, double now_s) {
  for (const char* form :
       {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"}) {
    if (const auto at_s = date_as(text, form)) {
      return *at_s <= now_s ? Result<double>(*at_s)
                            : invalid_input(fmt::format("\"{}\" is in the future", text));
    }
  }
  const Result<double> span = serve::parse_seconds(text);
  if (span) {
    return now_s - *span;
  }
  return invalid_input(fmt::format(
      "\"{}\" is neither a span of time nor a date; write 7d, 12h, 2026-11-01 or \"2026-11-01 "
      "12:30\"",
      text));
}

}  // namespace carpool::app
