// The contract suite over the GPUs of this machine.
#include "base/clock.hpp"
#include "gpu/nvml/nvml_telemetry.hpp"
#include "gpu/tests/telemetry_contract.hpp"
#include "gpu_gate.hpp"

namespace carpool::gpu {

std::vector<gpu::TelemetryCase> telemetry_cases() {
  return {{.name = "Device",
           .open = [] { return gpu::open_nvml(); },
           .pass = [](TelemetrySource&, std::chrono::milliseconds span) { pause_for(span); },
           .skip_because = gpu_skip_reason()}};
}

}  // namespace carpool::gpu
