// The contract suite over NVML telemetry with the fake driver.
#include "base/clock.hpp"
#include "gpu/nvml/nvml_telemetry.hpp"
#include "gpu/tests/telemetry_contract.hpp"

namespace carpool::gpu {

std::vector<gpu::TelemetryCase> telemetry_cases() {
  const auto wait = [](TelemetrySource&, std::chrono::milliseconds span) { pause_for(span); };
  return {
      {.name = "Nvml", .open = [] { return gpu::open_nvml(); }, .pass = wait},
      {.name = "NvmlOfAnOldDriver",
       .open = [] { return gpu::open_nvml({FAKE_NVML_OLD_LIBRARY}); },
       .pass = wait},
  };
}

}  // namespace carpool::gpu
