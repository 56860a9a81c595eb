#include "app/inputs/since_time.hpp"

#include <fmt/format.h>

#include "serve/units.hpp"

namespace carpool::app {

Result<double> parse_since(const std::string& text, double now_s) {
  if (const auto at_s = serve::parse_date(text)) {
    return *at_s <= now_s ? Result<double>(*at_s)
                          : invalid_input(fmt::format("\"{}\" is in the future", text));
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
