#include "app/cli/output.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::app {
namespace {

bool uses_colour(std::string_view choice) {
  if (choice != "auto") {
    return choice == "always";
  }
  // https://no-color.org: any non-empty value turns colour off.
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace

Output::Output(const OutputOptions& options)
    : json_(options.json),
      quiet_(options.quiet),
      colour_(!options.json && uses_colour(options.colour)) {}

void Output::print(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Output::heading(std::string_view text) const {
  print(colour_ ? fmt::format("\033[1m{}\033[0m\n", text) : fmt::format("{}\n", text));
}

void Output::remark(std::string_view text) const {
  if (!quiet_ && !json_) {
    print(fmt::format("{}\n", text));
  }
}

void Output::print_json(const nlohmann::json& value) const {
  print(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void Output::print_json_line(const nlohmann::json& value) const {
  print(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Result<void> Output::flush() const {
  // An earlier write of a full buffer that failed has set the error flag of the stream.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return fail(ErrorCode::Internal, "standard output could not be written");
  }
  return {};
}

std::string percent(std::optional<double> ratio, int decimals) {
  return ratio ? fmt::format("{:.{}f}", *ratio * 100.0, decimals) : "-";
}

std::string number(double value) {
  if (!std::isfinite(value)) {
    return "-";
  }
  const double size = std::abs(value);
  if (size >= 1e9) {
    return fmt::format("{:.3g}", value);  // keeps the column narrow
  }
  const int decimals = size >= 100.0 ? 0 : size >= 10.0 ? 1 : size >= 1.0 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

nlohmann::json or_null(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace carpool::app
