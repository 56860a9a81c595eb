#include "base/text/utf8.hpp"

#include <cstdint>

namespace carpool {
namespace {

constexpr std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

// Length that the first byte of a UTF-8 sequence announces, or 0.
std::size_t announced_length(std::uint8_t lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xC2 || lead > 0xF4) {
    return 0;
  }
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Overlong forms, surrogates and what lies past U+10FFFF show in the second byte (Unicode standard,
// table 3-7).
bool is_well_formed_start(std::uint8_t lead, std::uint8_t second) {
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool too_large = lead == 0xF4 && second > 0x8F;
  return !overlong && !surrogate && !too_large;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const std::uint8_t lead = byte_at(text, 0);
  const std::size_t length = announced_length(lead);
  if (length > text.size()) {
    return 0;
  }
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte_at(text, at) & 0xC0U) != 0x80U) {
      return 0;
    }
  }
  return length < 2 || is_well_formed_start(lead, byte_at(text, 1)) ? length : 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace carpool
