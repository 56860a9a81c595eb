// Whether bytes are UTF-8 (Unicode standard, table 3-7): no overlong forms, no surrogates, nothing
// past U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace carpool {

// Bytes of the character at the start of `text`, which is not empty; 0: it is malformed.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace carpool
