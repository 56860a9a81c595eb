// Text files that may be compressed by gzip.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace carpool {

// The content, unpacked where the file begins like gzip; at most kMaxFileBytes of it.
[[nodiscard]] Result<std::string> read_packed_file(const std::filesystem::path& path);

}  // namespace carpool
