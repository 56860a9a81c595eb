// The MPS contract with NVIDIA's control program, on the first GPU of this machine. Starts, queries
// and stops daemons, without clients.
#include <cstdlib>

#include "gpu/nvml/nvml_telemetry.hpp"
#include "gpu/tests/mps_contract.hpp"

namespace carpool::gpu {

MpsMachine mps_machine() {
  if (std::getenv("CARPOOL_GPU_TESTS") == nullptr) {
    return {{}, "CARPOOL_GPU_TESTS is not set"};
  }
  const auto telemetry = open_nvml();
  EXPECT_TRUE(telemetry.has_value()) << telemetry.error().message;
  const auto gpus = telemetry ? (*telemetry)->list_gpus() : Result<std::vector<GpuInfo>>{};
  EXPECT_TRUE(gpus.has_value() && !gpus->empty()) << "there is no GPU";
  return {gpus && !gpus->empty() ? gpus->front().uuid : "", {}};
}

}  // namespace carpool::gpu
