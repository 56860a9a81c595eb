// Declarations of CUPTI's PM sampling, for the same reason as in abi.hpp. The first member of each
// structure is its size without the padding at its end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cupti/abi.hpp"

namespace carpool::gpu::cupti {

using HostObject = struct OpaqueHostObject*;
using SamplingObject = struct OpaqueSamplingObject*;

inline constexpr std::uint32_t kProfilerPmSampling = 1;  // CUpti_ProfilerType
inline constexpr std::uint32_t kApiPmSampling = 3;       // CUpti_Profiler_API
inline constexpr std::uint32_t kLevelSupported = 3;      // CUpti_Profiler_Support_Level
inline constexpr std::uint32_t kTriggerTime = 1;         // CUpti_PmSampling_TriggerMode
inline constexpr std::uint32_t kKeepLatest = 1;  // CUpti_PmSampling_HardwareBuffer_AppendMode

struct ProfilerInitialize {
  std::size_t size = 16;
  void* priv = nullptr;
};

struct DeviceSupported {
  std::size_t size = 52;
  void* priv = nullptr;
  int device = 0;
  std::uint32_t supported = 0;
  std::uint32_t architecture = 0;
  std::uint32_t sli = 0;
  std::uint32_t vgpu = 0;
  std::uint32_t confidential = 0;
  std::uint32_t cmp = 0;
  std::uint32_t wsl = 0;
  std::uint32_t api = kApiPmSampling;
};

struct ChipName {
  std::size_t size = 32;
  void* priv = nullptr;
  std::size_t device = 0;
  const char* name = nullptr;
};

struct HostInitialize {
  std::size_t size = 48;
  void* priv = nullptr;
  std::uint32_t profiler = kProfilerPmSampling;
  const char* chip = nullptr;
  const std::uint8_t* availability = nullptr;
  HostObject host = nullptr;
};

struct HostDeinitialize {
  std::size_t size = 24;
  void* priv = nullptr;
  HostObject host = nullptr;
};

struct AddMetrics {
  std::size_t size = 40;
  void* priv = nullptr;
  HostObject host = nullptr;
  const char** names = nullptr;
  std::size_t count = 0;
};

struct ConfigImageSize {
  std::size_t size = 32;
  void* priv = nullptr;
  HostObject host = nullptr;
  std::size_t bytes = 0;
};

struct ConfigImage {
  std::size_t size = 40;
  void* priv = nullptr;
  HostObject host = nullptr;
  std::size_t bytes = 0;
  std::uint8_t* image = nullptr;
};

struct PassCount {
  std::size_t size = 40;
  void* priv = nullptr;
  std::size_t bytes = 0;
  std::uint8_t* image = nullptr;
  std::size_t passes = 0;
};

struct Evaluate {
  std::size_t size = 72;
  void* priv = nullptr;
  HostObject host = nullptr;
  const std::uint8_t* image = nullptr;
  std::size_t bytes = 0;
  std::size_t index = 0;
  const char** names = nullptr;
  std::size_t count = 0;
  double* values = nullptr;
};

struct CounterAvailability {
  std::size_t size = 40;
  void* priv = nullptr;
  std::size_t device = 0;
  std::size_t bytes = 0;
  std::uint8_t* image = nullptr;
};

struct SamplingEnable {
  std::size_t size = 32;
  void* priv = nullptr;
  std::size_t device = 0;
  SamplingObject sampling = nullptr;
};

// For cuptiPmSamplingDisable, ..Start and ..Stop.
struct SamplingCall {
  std::size_t size = 24;
  void* priv = nullptr;
  SamplingObject sampling = nullptr;
};

struct SamplingConfig {
  std::size_t size = 64;
  void* priv = nullptr;
  SamplingObject sampling = nullptr;
  std::size_t bytes = 0;
  const std::uint8_t* image = nullptr;
  std::size_t hardware_bytes = 0;
  std::uint64_t interval = 0;  // ns
  std::uint32_t trigger = kTriggerTime;
  std::uint32_t append = kKeepLatest;
};

struct CounterDataSize {
  std::size_t size = 56;
  void* priv = nullptr;
  SamplingObject sampling = nullptr;
  const char** names = nullptr;
  std::size_t count = 0;
  std::uint32_t samples = 0;
  std::size_t bytes = 0;
};

struct CounterDataInitialize {
  std::size_t size = 40;
  void* priv = nullptr;
  SamplingObject sampling = nullptr;
  std::size_t bytes = 0;
  std::uint8_t* image = nullptr;
};

struct Decode {
  std::size_t size = 45;
  void* priv = nullptr;
  SamplingObject sampling = nullptr;
  std::uint8_t* image = nullptr;
  std::size_t bytes = 0;
  std::uint32_t stop_reason = 0;
  std::uint8_t overflow = 0;
};

struct CounterDataInfo {
  std::size_t size = 56;
  void* priv = nullptr;
  const std::uint8_t* image = nullptr;
  std::size_t bytes = 0;
  std::size_t total = 0;
  std::size_t populated = 0;
  std::size_t completed = 0;
};

struct SampleInfo {
  std::size_t size = 64;
  void* priv = nullptr;
  SamplingObject sampling = nullptr;
  const std::uint8_t* image = nullptr;
  std::size_t bytes = 0;
  std::size_t index = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

}  // namespace carpool::gpu::cupti
