// Declarations of the part of NVIDIA's management library (NVML) that Carpool calls, so that its
// header is not needed to build. Layouts and numbers are NVIDIA's. Only for src/gpu/nvml/ and the
// fake library of tests/fake_nvml/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace carpool::gpu::nvml {

using Device = struct OpaqueDevice*;
using GpmSample = struct OpaqueGpmSample*;
using EventSet = struct OpaqueEventSet*;

using Return = unsigned;  // nvmlReturn_t
inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kLibraryDriverMismatch = 18;
inline constexpr Return kVersionMismatch = 25;

inline constexpr unsigned kTextBytes = 96;  // enough for every name, UUID and version
inline constexpr unsigned long long kValueNotAvailable = ~0ULL;

struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

// Size and version of a versioned structure.
template <class T>
[[nodiscard]] constexpr unsigned version_word(unsigned version) {
  return static_cast<unsigned>(sizeof(T)) | (version << 24U);
}

// Unlike in Memory, `used` excludes the driver's reserve.
struct MemoryV2 {
  unsigned version = 0;
  unsigned long long total = 0;
  unsigned long long reserved = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
static_assert(sizeof(MemoryV2) == 40);

struct Utilization {
  unsigned gpu = 0;  // percent
  unsigned memory = 0;
};

struct PciInfo {
  std::array<char, 16> bus_id_legacy{};
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned device_id = 0;
  unsigned subsystem_id = 0;
  std::array<char, 32> bus_id{};
};
static_assert(sizeof(PciInfo) == 68);

// The layout of ..RunningProcesses_v2 and _v3.
struct ProcessInfo {
  unsigned pid = 0;
  unsigned long long used_memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
static_assert(sizeof(ProcessInfo) == 24);

inline constexpr unsigned kClockSm = 1;
inline constexpr unsigned kClockMemory = 2;
inline constexpr unsigned kTemperatureGpu = 0;

inline constexpr unsigned kComputeModeDefault = 0;
inline constexpr unsigned kComputeModeProhibited = 2;
inline constexpr unsigned kComputeModeExclusiveProcess = 3;

// Bits of the clock event (formerly throttle) reasons; 0x1 means idle, which limits nothing.
inline constexpr unsigned long long kReasonClockSetting = 0x2;
inline constexpr unsigned long long kReasonSoftwarePowerCap = 0x4;
inline constexpr unsigned long long kReasonHardwareSlowdown = 0x8;
inline constexpr unsigned long long kReasonSyncBoost = 0x10;
inline constexpr unsigned long long kReasonSoftwareThermal = 0x20;
inline constexpr unsigned long long kReasonHardwareThermal = 0x40;
inline constexpr unsigned long long kReasonPowerBrake = 0x80;
inline constexpr unsigned long long kReasonDisplayClock = 0x100;

inline constexpr unsigned kEccCorrected = 0;
inline constexpr unsigned kEccUncorrected = 1;
inline constexpr unsigned kEccSinceDriverLoad = 0;  // "volatile" counters

inline constexpr unsigned long long kEventXid = 0x8;
struct EventData {
  Device device = nullptr;
  unsigned long long type = 0;
  unsigned long long data = 0;  // the number of the XID
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
static_assert(sizeof(EventData) == 32);

struct ProcessUtilization {
  unsigned pid = 0;
  unsigned long long time_stamp = 0;  // microseconds since 1970
  unsigned sm = 0;                    // percent
  unsigned memory = 0;
  unsigned encoder = 0;
  unsigned decoder = 0;
};
static_assert(sizeof(ProcessUtilization) == 32);

inline constexpr unsigned kGpmVersion = 1;
struct GpmSupport {
  unsigned version = kGpmVersion;
  unsigned supported = 0;
};

enum class GpmMetricId : unsigned {
  GraphicsUtil = 1,
  SmUtil = 2,
  SmOccupancy = 3,
  AnyTensorUtil = 5,
  DramBandwidthUtil = 10,
  Fp64Util = 11,
  Fp32Util = 12,
  Fp16Util = 13,
  PcieTxPerSecond = 20,  // MiB/s, from the GPU
  PcieRxPerSecond = 21,  // MiB/s, to the GPU
  NvlinkRxPerSecond = 60,
  NvlinkTxPerSecond = 61,
};

struct GpmMetric {
  GpmMetricId id{};
  Return result = kSuccess;
  double value = 0.0;  // percent or MiB/s
  const char* short_name = nullptr;
  const char* long_name = nullptr;
  const char* unit = nullptr;
};
static_assert(sizeof(GpmMetric) == 40);

// NVIDIA's array grew from 98 to 333 entries without a new version; the library uses only the first
// `count`, so the largest length works with every driver.
inline constexpr std::size_t kGpmMetricSlots = 512;
struct GpmMetricsGet {
  unsigned version = kGpmVersion;
  unsigned count = 0;
  GpmSample from = nullptr;
  GpmSample to = nullptr;
  std::array<GpmMetric, kGpmMetricSlots> metrics{};
};
static_assert(offsetof(GpmMetricsGet, metrics) == 24);

}  // namespace carpool::gpu::nvml
