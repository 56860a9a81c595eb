// Files of /proc and /sys: they have no size, and may end while they are read.
#pragma once

#include <filesystem>
#include <string>

namespace carpool {

// All of it; empty when it cannot be read. Of a process that ends meanwhile, what there was of it:
// a stream would throw then.
[[nodiscard]] std::string read_kernel_file(const std::filesystem::path& path);

}  // namespace carpool
