// A program that carries NVIDIA's runtime inside, as cuBLAS, cuDNN and many CUDA programs do.
// Prints how it looked for the driver.
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

#include "program.hpp"

extern "C" int cudaGetDeviceCount(int* count);  // NOLINT: NVIDIA's name

int main() {
  using carpool::shim_test::print;
  int count = 0;
  print("returned", static_cast<std::uint64_t>(cudaGetDeviceCount(&count)));
  void* const driver = ::dlopen(std::getenv("CARPOOL_REAL_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
  auto* const calls = reinterpret_cast<std::uint64_t (*)(const char*)>(
      driver == nullptr ? nullptr : ::dlsym(driver, "fake_cuda_calls"));
  print("lookups", calls == nullptr ? 0 : calls("cuGetProcAddress_v2"));
  print("inits", calls == nullptr ? 0 : calls("cuInit"));
  return 0;
}
