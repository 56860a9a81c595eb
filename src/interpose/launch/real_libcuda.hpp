// For the program `carpool`, which starts programs with the library in front of the driver.
#pragma once

#include <optional>
#include <string>

namespace carpool::interpose {

// The file that the loader takes for libcuda.so.1 in this environment. It is asked in a child
// process, so that the driver is not loaded into this one. Nothing if there is no driver.
[[nodiscard]] std::optional<std::string> find_real_libcuda();

}  // namespace carpool::interpose
