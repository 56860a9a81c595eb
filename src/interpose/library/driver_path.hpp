// Which file the real driver is.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace carpool::interpose {

using PathText = std::array<char, 4096>;

// CARPOOL_REAL_LIBCUDA, which the launcher sets; else the libcuda.so.1 that the loader would find
// without this library: LD_LIBRARY_PATH, the cache of ldconfig, the default folders. Never this
// library itself. False if there is none.
[[nodiscard]] bool find_driver_path(PathText& path);

// The path of libcuda.so.1 in the content of /etc/ld.so.cache; empty if it has none. The result is
// part of `cache`.
[[nodiscard]] std::string_view driver_in_cache(std::string_view cache);

}  // namespace carpool::interpose
