// Files with secrets: tokens and keys.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool::serve {

enum class Links { Refused, Followed };

// The content of a regular file of at most 1 MiB that belongs to root or to the user of this
// process, and that no other user may read. `secret` names the content in messages: "these tokens".
[[nodiscard]] Result<std::string> read_private_file(const std::filesystem::path& file,
                                                    std::string_view secret,
                                                    Links links);

}  // namespace carpool::serve
