// Which kernel a handle means.
#pragma once

#include <cstdint>

#include "interpose/library/driver_abi.hpp"

namespace carpool::interpose {

// The hash of the kernel's name; 0 if it is not known. Asks the driver when a handle is seen for
// the first time, unless a capture is alive.
[[nodiscard]] std::uint64_t kernel_name_hash(Handle function);

// Whether kernel_name_hash() has seen the handle before.
[[nodiscard]] bool kernel_name_known(Handle function);

// A module or library was unloaded: its handles may come to mean other kernels.
void forget_kernel_names();

}  // namespace carpool::interpose
