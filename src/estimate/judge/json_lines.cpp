#include "estimate/judge/json_lines.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::estimate {

Result<void> for_each_line(std::string_view text,
                           std::string_view name,
                           std::string_view what,
                           const TakeLine& take) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    try {
      if (auto taken = take(nlohmann::json::parse(line), number); !taken) {
        return invalid_input(fmt::format("{}:{}: {}", name, number, taken.error().message));
      }
    } catch (const nlohmann::json::exception& problem) {
      // The message may contain the line, which can be very long.
      constexpr std::size_t kReadable = 160;
      return invalid_input(fmt::format("{}:{}: not a {}: {}",
                                       name,
                                       number,
                                       what,
                                       std::string_view(problem.what()).substr(0, kReadable)));
    }
  }
  return {};
}

}  // namespace carpool::estimate
