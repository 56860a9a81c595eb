#include "app/output/terminal_filter.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/text/printable.hpp"

namespace carpool::app {
namespace {

constexpr char kEscape = '\033';
constexpr std::size_t kLongestSequence = 64;
constexpr std::size_t kLongestCharacter = 4;

bool is_parameter(char c) {
  return (c >= '0' && c <= '9') || c == ';' || c == ':';
}

// Bytes of the colour or erasing sequence at the start; 0: it is another one; absent: its end has
// not arrived.
std::optional<std::size_t> harmless_sequence(std::string_view text) {
  if (text.size() == 1) {
    return std::nullopt;
  }
  if (text[1] != '[') {
    return 0;
  }
  const auto* end = std::find_if_not(text.begin() + 2, text.end(), is_parameter);
  const auto bytes = static_cast<std::size_t>(end - text.begin());
  if (bytes > kLongestSequence) {
    return 0;
  }
  if (end == text.end()) {
    return std::nullopt;
  }
  return *end == 'm' || *end == 'K' ? bytes + 1 : 0;
}

// The start of a character of several bytes, at the end of the text.
bool is_incomplete(std::string_view text) {
  if (text.size() >= kLongestCharacter || first_character(text).valid) {
    return false;
  }
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  return text.size() < length &&
         std::all_of(
             text.begin() + 1,
             text.end(),
             [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; });
}

}  // namespace

std::string TerminalFilter::pass(std::string_view bytes) {
  kept_ += bytes;
  std::string_view text = kept_;
  std::string out;
  while (!text.empty() && !is_incomplete(text)) {
    const std::optional<std::size_t> sequence =
        text[0] == kEscape ? harmless_sequence(text) : std::optional<std::size_t>(0);
    if (!sequence) {
      break;
    }
    const TextCharacter character = first_character(text);
    const bool kept = *sequence > 0 || is_shown(character) || character.code == '\n' ||
                      character.code == '\t' || character.code == '\r';
    const std::size_t taken = std::max(*sequence, character.bytes);
    out += kept ? std::string(text.substr(0, taken)) : escaped(character);
    text.remove_prefix(taken);
  }
  kept_ = std::string(text);
  return out;
}

std::string TerminalFilter::finish() {
  std::string rest;
  std::swap(rest, kept_);
  return printable_lines(rest);
}

}  // namespace carpool::app
