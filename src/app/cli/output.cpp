#include "app/cli/output.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/printable.hpp"

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

void write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// Faint headings, bold, green, yellow, red, and their end. Text from outside may contain them too:
// they do no harm.
constexpr std::array<std::string_view, 7> kStyles = {
    "\033[0m", "\033[1m", "\033[2m", "\033[1;32m", "\033[32m", "\033[33m", "\033[31m"};

std::string with_styles(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto* style = std::ranges::find_if(
        kStyles, [&](std::string_view known) { return text.starts_with(known); });
    const std::size_t bytes =
        style != kStyles.end() ? style->size() : std::min(text.find('\033', 1), text.size());
    const std::string_view piece = text.substr(0, bytes);
    out += style != kStyles.end() ? std::string(piece) : printable_lines(piece);
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

Output::Output(const OutputOptions& options)
    : json_(options.json),
      quiet_(options.quiet),
      colour_(!options.json && uses_colour(options.colour)) {}

void Output::print(std::string_view text) const {
  write(colour_ ? with_styles(text) : printable_lines(text));
}

void Output::clear_screen() const {
  write("\033[2J");
}

void Output::redraw(std::string_view text) const {
  write("\033[H");
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    print(text.substr(0, end));
    write("\033[K\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  write("\033[J");
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
  write(printable_json(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n");
}

void Output::print_json_of(const nlohmann::json& values, std::size_t asked, bool problems) const {
  if (!json_ || (values.empty() && (problems || asked == 1))) {
    return;
  }
  print_json(asked == 1 ? values.front() : values);
}

void Output::print_json_line(const nlohmann::json& value) const {
  write(printable_json(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) +
        "\n");
}

Result<void> Output::flush() const {
  // An earlier write of a full buffer that failed has set the error flag of the stream.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return fail(ErrorCode::Internal, "standard output could not be written");
  }
  return {};
}

void print_message(std::string_view message) {
  fmt::print(stderr, "carpool: {}\n", printable_lines(message));
}

// Larger numbers are written with an exponent, which keeps a column narrow.
constexpr double kWide = 1e9;

std::string percent(std::optional<double> ratio, int decimals) {
  if (!ratio || !std::isfinite(*ratio)) {
    return "-";
  }
  const double value = *ratio * 100.0;
  return std::abs(value) >= kWide ? fmt::format("{:.3g}", value)
                                  : fmt::format("{:.{}f}", value, decimals);
}

std::string number(double value) {
  if (!std::isfinite(value)) {
    return "-";
  }
  const double size = std::abs(value);
  if (size >= kWide) {
    return fmt::format("{:.3g}", value);
  }
  const int decimals = size >= 100.0 ? 0 : size >= 10.0 ? 1 : size >= 1.0 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

std::optional<std::size_t> terminal_columns() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::optional<std::size_t>(size.ws_col) : std::nullopt;
}

nlohmann::json or_null(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace carpool::app
