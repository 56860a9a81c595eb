// For the probes: the driver, opened as any program opens it, a context, and clocks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace probes {

inline void need(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) {
    std::fprintf(stderr, "%s returned %d\n", call, static_cast<int>(result));
    std::exit(1);
  }
}
#define NEED(CALL) ::probes::need(CALL, #CALL)

inline double now_ns() {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::steady_clock::now().time_since_epoch())
                                 .count());
}

// The value below which this share of the values lies.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) {
    return -1;
  }
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(share * last + 0.5)];
}

// The first GPU, its primary context, the kernels of a PTX file.
struct Gpu {
  CUcontext context{};
  CUmodule module{};
  CUfunction empty{};
  CUfunction spin{};
  CUstream stream{};
  int sms = 0;

  // A stream of the highest priority if `high`.
  explicit Gpu(const char* ptx, bool high = false) {
    CUdevice device{};
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    NEED(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    std::ifstream file(ptx);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    NEED(cuModuleLoadData(&module, text.c_str()));
    NEED(cuModuleGetFunction(&empty, module, "empty"));
    NEED(cuModuleGetFunction(&spin, module, "spin"));
    int least = 0;
    int greatest = 0;
    NEED(cuCtxGetStreamPriorityRange(&least, &greatest));
    NEED(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, high ? greatest : least));
  }

  void launch_empty() const {
    NEED(cuLaunchKernel(empty, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
  }
  void launch_spin(unsigned blocks, unsigned long long nanoseconds) const {
    launch_spin_to(stream, blocks, nanoseconds);
  }
  void launch_spin_to(CUstream other, unsigned blocks, unsigned long long nanoseconds) const {
    void* parameters[] = {&nanoseconds};
    NEED(cuLaunchKernel(spin, blocks, 1, 1, 128, 1, 1, 0, other, parameters, nullptr));
  }
  void wait() const { NEED(cuStreamSynchronize(stream)); }
};

// Prints {"name": value, …}, the answer of a probe.
inline void answer(const std::map<std::string, double>& values) {
  const char* between = "{";
  for (const auto& [name, value] : values) {
    std::printf("%s\"%s\": %.3f", between, name.c_str(), value);
    between = ", ";
  }
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace probes
