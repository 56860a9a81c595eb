// A library with NVML's name that lacks its functions.
#include "gpu/nvml/abi.hpp"

// NOLINTNEXTLINE(readability-identifier-naming,misc-use-internal-linkage): the vendor's name
extern "C" carpool::gpu::nvml::Return nvmlInit_v2() {
  return carpool::gpu::nvml::kSuccess;
}
