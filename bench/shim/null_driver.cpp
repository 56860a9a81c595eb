// A libcuda.so.1 whose functions do nothing, so that what a launch costs beside them can be timed.
#include <cstddef>
#include <cstdint>
#include <cstring>

// NOLINTBEGIN: names and types are NVIDIA's
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cuInit(unsigned /*flags*/) {
  return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int /*device*/) {
  *context = context;
  return 0;
}
EXPORT int cuCtxSetCurrent(void* /*context*/) {
  return 0;
}
EXPORT int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}
EXPORT int cuDeviceGetUuid_v2(void* uuid, int /*device*/) {
  std::memset(uuid, 7, 16);
  return 0;
}
EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int /*device*/) {
  *bytes = std::size_t{1} << 37U;
  return 0;
}
EXPORT int cuCtxGetCurrent(void** context) {
  static int only = 0;
  *context = &only;
  return 0;
}
EXPORT int cuEventCreate(void** event, unsigned /*flags*/) {
  *event = event;
  return 0;
}
EXPORT int cuEventDestroy_v2(void* /*event*/) {
  return 0;
}
EXPORT int cuEventRecord(void* /*event*/, void* /*stream*/) {
  return 0;
}
EXPORT int cuEventQuery(void* /*event*/) {
  return 0;
}
EXPORT int cuEventElapsedTime(float* milliseconds, void* /*from*/, void* /*to*/) {
  *milliseconds = 0.5F;
  return 0;
}
EXPORT int cuMemHostRegister_v2(void* /*memory*/, std::size_t /*bytes*/, unsigned /*flags*/) {
  return 0;
}
EXPORT int cuMemHostGetDevicePointer_v2(std::uint64_t* address, void* memory, unsigned /*flags*/) {
  *address = reinterpret_cast<std::uintptr_t>(memory);
  return 0;
}
EXPORT int cuStreamWaitValue64_v2(void* /*stream*/,
                                  std::uint64_t /*address*/,
                                  std::uint64_t /*value*/,
                                  unsigned /*flags*/) {
  return 0;
}
EXPORT int cuStreamWriteValue64_v2(void* /*stream*/,
                                   std::uint64_t /*address*/,
                                   std::uint64_t /*value*/,
                                   unsigned /*flags*/) {
  return 0;
}
EXPORT int cuStreamGetFlags(void* /*stream*/, unsigned* flags) {
  *flags = 1;
  return 0;
}
EXPORT int cuFuncGetName(const char** name, void* /*function*/) {
  *name = "kernel";
  return 0;
}
EXPORT int cuLaunchKernel(void* /*function*/,
                          unsigned /*grid_x*/,
                          unsigned /*grid_y*/,
                          unsigned /*grid_z*/,
                          unsigned /*block_x*/,
                          unsigned /*block_y*/,
                          unsigned /*block_z*/,
                          unsigned /*shared*/,
                          void* /*stream*/,
                          void** /*parameters*/,
                          void** /*extra*/) {
  return 0;
}
EXPORT int cuGetProcAddress_v2(
    const char* name, void** function, int /*version*/, std::uint64_t /*flags*/, int* /*status*/) {
  *function =
      std::strcmp(name, "cuLaunchKernel") == 0 ? reinterpret_cast<void*>(&cuLaunchKernel) : nullptr;
  return 0;
}
// NOLINTEND
