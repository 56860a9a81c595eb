#include "base/text/printable.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "base/text/utf8.hpp"

namespace carpool {
namespace {

// Embeddings, overrides, isolates and marks of direction; separators of lines and paragraphs.
bool changes_direction(char32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

template <class Keep, class Escape>
std::string rewritten(std::string_view text, const Keep& keep, const Escape& escape) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const TextCharacter character = first_character(text);
    if (keep(character)) {
      out += text.substr(0, character.bytes);
    } else {
      out += escape(character);
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

}  // namespace

TextCharacter first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return static_cast<char32_t>(static_cast<std::uint8_t>(text[at]));
  };
  const std::size_t length = utf8_length(text);
  if (length < 2) {
    return {.bytes = 1, .code = byte(0), .valid = length == 1};
  }
  // The first byte of a sequence of n bytes holds 7 - n bits, every other one 6.
  char32_t code = byte(0) & (0x7FU >> length);
  for (std::size_t at = 1; at < length; ++at) {
    code = (code << 6U) | (byte(at) & 0x3FU);
  }
  return {.bytes = length, .code = code, .valid = true};
}

bool is_shown(const TextCharacter& character) {
  const bool control = character.code < 0x20 || (character.code >= 0x7F && character.code <= 0x9F);
  return character.valid && !control && !changes_direction(character.code);
}

std::string escaped(const TextCharacter& character) {
  switch (character.code) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      break;
  }
  const auto code = static_cast<std::uint32_t>(character.code);
  return character.valid && code >= 0x80 ? fmt::format("\\u{:04x}", code)
                                         : fmt::format("\\x{:02x}", code);
}

std::string printable(std::string_view text) {
  return rewritten(text, is_shown, escaped);
}

std::string printable_lines(std::string_view text) {
  const auto keep = [](const TextCharacter& character) {
    return is_shown(character) || character.code == '\n' || character.code == '\t';
  };
  return rewritten(text, keep, escaped);
}

std::string printable_json(std::string_view json) {
  // Outside strings JSON has line feeds and ASCII only.
  const auto keep = [](const TextCharacter& character) {
    return is_shown(character) || character.code == '\n';
  };
  const auto escape = [](const TextCharacter& character) {
    return fmt::format("\\u{:04x}",
                       character.valid ? static_cast<std::uint32_t>(character.code) : 0xFFFDU);
  };
  return rewritten(json, keep, escape);
}

}  // namespace carpool
