// Whether tests on a real GPU are enabled.
#pragma once

#include <cstdlib>
#include <string>

namespace carpool {

// Why a test on a GPU is skipped; empty when CARPOOL_GPU_TESTS=1.
[[nodiscard]] inline std::string gpu_skip_reason() {
  const char* wanted = std::getenv("CARPOOL_GPU_TESTS");
  return wanted != nullptr && std::string(wanted) == "1"
             ? ""
             : "needs a GPU: CARPOOL_GPU_TESTS is not 1";
}

}  // namespace carpool
