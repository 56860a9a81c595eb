#include "dataset/utf8.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "base/text/utf8.hpp"

namespace carpool::dataset {
namespace {

bool is_control(char byte) {
  const auto code = static_cast<std::uint8_t>(byte);
  return (code < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || code == 0x7F;
}

}  // namespace

std::optional<TextProblem> find_text_problem(std::string_view text) {
  std::size_t line = 1;
  while (!text.empty()) {
    const auto code = static_cast<std::uint8_t>(text.front());
    if (is_control(text.front())) {
      return TextProblem{line,
                         fmt::format("control character 0x{:02x}; expected UTF-8 text", code)};
    }
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      return TextProblem{line, fmt::format("byte 0x{:02x} is not UTF-8; save as UTF-8", code)};
    }
    line += text.front() == '\n' ? 1 : 0;
    text.remove_prefix(length);
  }
  return std::nullopt;
}

}  // namespace carpool::dataset
