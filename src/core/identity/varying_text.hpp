// Parts of a command that differ from run to run though the work is the same: dates, ids, names of
// temporary files, numbered run folders. Each is written as "*". Reads no file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carpool::identity {

inline constexpr std::string_view kVaries = "*";

// "runs_2026-11-16_12-30" gives "runs_*".
[[nodiscard]] std::string mask_varying(std::string_view text);

// An argument: of a path the file name remains, and the folder above it where the name alone says
// little ("train", "config.yaml").
[[nodiscard]] std::string steady_value(std::string_view value);

// The file name of a path.
[[nodiscard]] std::string_view file_name(std::string_view path);

// The parts of an absolute path without "." and "..", those that vary as "*".
[[nodiscard]] std::vector<std::string> steady_folder(std::string_view path);

// 3 bytes of SHA-256 per 6 digits: for people, not against attackers.
[[nodiscard]] std::string short_digest(std::string_view text, std::size_t digits);

}  // namespace carpool::identity
