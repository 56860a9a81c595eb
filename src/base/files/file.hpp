// Whole files in and out. Writing is all or nothing: a reader sees the old content or the new.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool {

inline constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20U;

// The content of a regular file of at most kMaxFileBytes.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path);

// Writes beside the target, syncs, renames over it, and syncs the folder. Where the name is a link
// to a file, that file is the target.
[[nodiscard]] Result<void> write_file(const std::filesystem::path& named, std::string_view content);
// The same with mode 0600, whatever the umask.
[[nodiscard]] Result<void> write_private_file(const std::filesystem::path& named,
                                              std::string_view content);

}  // namespace carpool
