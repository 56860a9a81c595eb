// Files in the format of gzip.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool {

[[nodiscard]] Result<std::string> gzip(std::string_view text);

// `file` is the name that errors give. What unpacks to more than kMaxFileBytes is refused.
[[nodiscard]] Result<std::string> gunzip(std::string_view bytes, std::string_view file);

}  // namespace carpool
