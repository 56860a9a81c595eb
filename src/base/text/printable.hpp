// Text from outside, made safe for a terminal or a log. Names, arguments and outputs of jobs may
// contain sequences that move the cursor, change the title or the clipboard of a terminal, or forge
// lines of a log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace carpool {

// What a terminal acts upon instead of showing it is shown as an escape: control characters as
// "\n", "\x1b" or (U+0080 to U+009F) "\u009b", marks that change the direction of text as "\u202e".
// Bytes that are not UTF-8 become "\xff". The result is UTF-8 in one line.
[[nodiscard]] std::string printable(std::string_view text);

// The same, but line feeds and tabs stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

// JSON text of the same value, in which such characters are escaped as JSON escapes them. JSON
// itself requires this only below U+0020.
[[nodiscard]] std::string printable_json(std::string_view json);

// The first character of `text`, which is not empty.
struct TextCharacter {
  std::size_t bytes = 1;
  char32_t code = 0;   // of a byte that is not UTF-8: its value
  bool valid = false;  // UTF-8
};
[[nodiscard]] TextCharacter first_character(std::string_view text);
[[nodiscard]] bool is_shown(const TextCharacter& character);
[[nodiscard]] std::string escaped(const TextCharacter& character);

}  // namespace carpool
