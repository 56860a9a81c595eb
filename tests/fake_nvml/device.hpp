// A GPU of the fake driver, and how its functions answer.
#pragma once

#include "gpu/nvml/abi.hpp"
#include "settings.hpp"

struct carpool::gpu::nvml::OpaqueDevice {
  unsigned gpu = 0;
  int slice = -1;  // of MIG; -1: the whole GPU
};

namespace fake_nvml {

using carpool::gpu::nvml::Device;
using carpool::gpu::nvml::OpaqueDevice;
using carpool::gpu::nvml::Return;

inline constexpr unsigned kMostGpus = 16;
inline constexpr unsigned kMostSlices = 7;

// The configured code of this function, or an error if the library was not started.
Return told(const Settings& settings, const char* function);

Device whole_gpu(unsigned gpu);

// Sets `out` to the configured or default value.
template <class T>
Return value(const char* function,
             const OpaqueDevice* device,
             const char* key,
             unsigned long long fallback,
             T* out) {
  const Settings settings = Settings::current();
  if (const Return code = told(settings, function); code != carpool::gpu::nvml::kSuccess) {
    return code;
  }
  *out = static_cast<T>(settings.number_of(device->gpu, key, fallback));
  return carpool::gpu::nvml::kSuccess;
}

}  // namespace fake_nvml
