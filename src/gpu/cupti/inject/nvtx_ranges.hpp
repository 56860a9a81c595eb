// Records the NVTX ranges of the program by replacing NVTX's functions.
#pragma once

#include "gpu/cupti/nvtx_abi.hpp"

namespace carpool::gpu::inject {

// False if this NVTX lacks the required table.
[[nodiscard]] bool install_nvtx(nvtx::GetExportTable get_table);

}  // namespace carpool::gpu::inject
