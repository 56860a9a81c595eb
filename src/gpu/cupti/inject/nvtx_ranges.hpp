// NVTX ranges of the program, by the functions that NVTX lets a tool put in.
#pragma once

#include "gpu/cupti/nvtx_abi.hpp"

namespace carpool::gpu::inject {

// False: this NVTX has not the table that is needed.
[[nodiscard]] bool install_nvtx(nvtx::GetExportTable get_table);

}  // namespace carpool::gpu::inject
