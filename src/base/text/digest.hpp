// SHA-256 and base64, for model files.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool {

// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view content);

[[nodiscard]] std::string base64_encode(std::string_view bytes);
[[nodiscard]] Result<std::string> base64_decode(std::string_view text);

}  // namespace carpool
