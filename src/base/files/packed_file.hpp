// Files that may be compressed by gzip.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool {

// The content, unpacked if the file begins like gzip; at most kMaxFileBytes.
[[nodiscard]] Result<std::string> read_packed_file(const std::filesystem::path& path);

// In the format of gzip.
[[nodiscard]] Result<std::string> gzip(std::string_view text);

}  // namespace carpool
