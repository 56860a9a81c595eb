// Commands of the program whose kernels can run on a part of the SMs.
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/clock.hpp"
#include "program.hpp"

namespace carpool::shim_test {

// Kernels of 2 ms that count in memory of the GPU, by both launch calls, on the default stream and
// one of the program's own, until SHIM_TEST_STOP exists. The copy behind them must find all of them
// counted.
int run_counted(Program& program, int most) {
  const DriverDoor& cuda = program.cuda;
  int failures = use_kernel(program, "increment_2000us");
  DevicePointer memory = 0;
  Handle own = nullptr;
  failures += cuda("cuMemAlloc_v2", &memory, kMegabyte);
  failures += cuda("cuMemsetD8_v2", memory, static_cast<unsigned char>(0), kMegabyte);
  failures += cuda("cuStreamCreate", &own, 0U);
  std::array<void*, 1> parameters{&memory};
  const char* const stop = std::getenv("SHIM_TEST_STOP");
  const char* const wide = std::getenv("SHIM_TEST_BLOCKS");
  const unsigned blocks = wide == nullptr ? 1U : static_cast<unsigned>(std::atoi(wide));
  const char* const large = std::getenv("SHIM_TEST_SHARED_BYTES");
  const unsigned shared_bytes = large == nullptr ? 0U : static_cast<unsigned>(std::atoi(large));
  const Stopwatch watch;
  int launched = 0;
  touch("SHIM_TEST_GO");
  while (launched < most && watch.seconds() < 60.0 &&
         (stop == nullptr || !std::filesystem::exists(stop))) {
    const Handle stream = launched % 4 < 2 ? nullptr : own;
    const interpose::LaunchConfig config{.grid = {blocks, 1, 1},
                                         .block = {32, 1, 1},
                                         .shared_bytes = shared_bytes,
                                         .stream = stream,
                                         .attributes = nullptr,
                                         .attribute_count = 0};
    failures += launched % 2 == 0 ? cuda("cuLaunchKernel",
                                         program.kernel,
                                         blocks,
                                         1U,
                                         1U,
                                         32U,
                                         1U,
                                         1U,
                                         shared_bytes,
                                         stream,
                                         parameters.data(),
                                         Program::nothing())
                                  : cuda("cuLaunchKernelEx",
                                         &config,
                                         program.kernel,
                                         parameters.data(),
                                         Program::nothing());
    failures += cuda("cuStreamSynchronize", stream);
    ++launched;
  }
  std::uint32_t counted = 0;
  failures += cuda("cuMemcpyDtoH_v2", static_cast<void*>(&counted), memory, sizeof counted);
  print("launched", static_cast<std::uint64_t>(launched));
  print("counted", counted);
  report_gate();
  return failures;
}

}  // namespace carpool::shim_test
