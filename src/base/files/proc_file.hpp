// Files of /proc and /sys: they have no size, and may end while they are read.
#pragma once

#include <filesystem>
#include <string>

namespace carpool {

// The whole file; empty when it cannot be read. When the process ends during the read, the part
// read so far: a stream would throw.
[[nodiscard]] std::string read_proc_file(const std::filesystem::path& path);

}  // namespace carpool
