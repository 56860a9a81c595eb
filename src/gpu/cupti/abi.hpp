// Declarations of the CUPTI, driver and NVTX interfaces that libcarpool_profile.so calls, so that
// NVIDIA's headers are not needed to build. Layouts and numbers are NVIDIA's;
// tests/fake_cupti/abi_check.cpp compares them where the headers are installed. Only for
// src/gpu/cupti/inject/ and the fake library of tests/fake_cupti/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace carpool::gpu::cupti {

using Code = int;  // CUptiResult, CUresult
inline constexpr Code kSuccess = 0;
inline constexpr Code kInvalidParameter = 1;
inline constexpr Code kMaxLimitReached = 12;
inline constexpr Code kNotCompatible = 14;
inline constexpr Code kInvalidKind = 21;
inline constexpr Code kNotSupported = 27;
inline constexpr Code kInsufficientPrivileges = 35;
inline constexpr Code kMultipleSubscribers = 39;

// cuptiGetVersion: 19 to 28 with CUDA 12, 13xxyy with CUDA 13. The declared parts of
// the records below are the same in all of these.
inline constexpr std::uint32_t kCuda12First = 19;
inline constexpr std::uint32_t kCuda12Last = 99;
inline constexpr std::uint32_t kCuda13First = 130000;
inline constexpr std::uint32_t kCuda13Last = 139999;

using Kind = std::uint32_t;  // CUpti_ActivityKind
inline constexpr Kind kKindMemcpy = 1;
inline constexpr Kind kKindMemset = 2;
inline constexpr Kind kKindConcurrentKernel = 10;
inline constexpr Kind kKindMemcpyPeer = 22;

// CUpti_ActivityAttribute
inline constexpr std::uint32_t kAttributeZeroedBuffer = 5;
inline constexpr std::uint32_t kFlushForced = 1;

// The first members of CUpti_ActivityKernel9 and 10. NVIDIA's packing to 8 bytes makes no
// difference here: all members are naturally aligned.
struct KernelRecord {
  Kind kind = 0;
  std::uint8_t cache_config = 0;
  std::uint8_t shared_memory_config = 0;
  std::uint16_t registers_per_thread = 0;
  std::uint32_t partitioned_requested = 0;
  std::uint32_t partitioned_executed = 0;
  std::uint64_t start = 0;  // 0: unknown
  std::uint64_t end = 0;
  std::uint64_t completed = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::array<std::int32_t, 3> grid{};
  std::array<std::int32_t, 3> block{};
  std::int32_t static_shared = 0;
  std::int32_t dynamic_shared = 0;
  std::uint32_t local_per_thread = 0;
  std::uint32_t local_total = 0;
  std::uint32_t correlation = 0;
  std::int64_t grid_id = 0;
  const char* name = nullptr;
  void* reserved0 = nullptr;
  std::uint64_t queued = 0;
  std::uint64_t submitted = 0;
  std::uint8_t launch_type = 0;
  std::uint8_t carveout_is_requested = 0;
  std::uint8_t carveout_requested = 0;
  std::uint8_t padding = 0;
  std::uint32_t shared_executed = 0;
  std::uint64_t graph_node = 0;  // 0: not part of a graph
};
static_assert(offsetof(KernelRecord, name) == 104);
static_assert(offsetof(KernelRecord, graph_node) == 144);

// The first members of CUpti_ActivityMemcpy5 and 6 and, up to `stream`, of ..MemcpyPtoP4.
struct MemcpyRecord {
  Kind kind = 0;
  std::uint8_t copy_kind = 0;
  std::uint8_t source_kind = 0;
  std::uint8_t destination_kind = 0;
  std::uint8_t flags = 0;
  std::uint64_t bytes = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
  std::uint32_t runtime_correlation = 0;
  std::uint32_t padding = 0;
  void* reserved0 = nullptr;
  std::uint64_t graph_node = 0;
};
static_assert(offsetof(MemcpyRecord, graph_node) == 64);

// The first members of CUpti_ActivityMemset3 and 4.
struct MemsetRecord {
  Kind kind = 0;
  std::uint32_t value = 0;
  std::uint64_t bytes = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
  std::uint16_t flags = 0;
  std::uint16_t memory_kind = 0;
  std::uint32_t padding = 0;
  void* reserved0 = nullptr;
  std::uint64_t graph_node = 0;
};
static_assert(offsetof(MemsetRecord, graph_node) == 64);

// CUpti_ActivityMemcpyKind
inline constexpr std::uint8_t kCopyHostToDevice = 1;
inline constexpr std::uint8_t kCopyDeviceToHost = 2;
inline constexpr std::uint8_t kCopyHostToArray = 3;
inline constexpr std::uint8_t kCopyArrayToHost = 4;
inline constexpr std::uint8_t kCopyArrayToArray = 5;
inline constexpr std::uint8_t kCopyArrayToDevice = 6;
inline constexpr std::uint8_t kCopyDeviceToArray = 7;
inline constexpr std::uint8_t kCopyDeviceToDevice = 8;
inline constexpr std::uint8_t kCopyPeerToPeer = 10;

using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
using BufferCompleted = void (*)(
    void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size, std::size_t valid);
using Timestamp = std::uint64_t (*)();
using Subscriber = struct OpaqueSubscriber*;
using Callback = void (*)(void* user, std::uint32_t domain, std::uint32_t id, const void* data);

// CUpti_CallbackDomain, CUpti_driver_api_trace_cbid: the calls of the driver that launch work.
inline constexpr std::uint32_t kDriverApi = 1;
inline constexpr std::uint32_t kGraphLaunch = 514;
inline constexpr std::uint32_t kGraphLaunchPerThread = 515;
inline constexpr std::array<std::uint32_t, 9> kLaunchCalls{
    307,  // cuLaunchKernel
    442,  // cuLaunchKernel_ptsz
    477,  // cuLaunchCooperativeKernel
    478,  // cuLaunchCooperativeKernel_ptsz
    480,  // cuLaunchCooperativeKernelMultiDevice
    kGraphLaunch,
    kGraphLaunchPerThread,  // cuGraphLaunch_ptsz
    652,                    // cuLaunchKernelEx
    653};                   // cuLaunchKernelEx_ptsz

[[nodiscard]] constexpr bool is_graph_launch(std::uint32_t call) {
  return call == kGraphLaunch || call == kGraphLaunchPerThread;
}

// The first member of CUpti_CallbackData.
struct CallbackData {
  std::uint32_t site = 0;  // CUpti_ApiCallbackSite
};
inline constexpr std::uint32_t kCallEntered = 0;

// CUdevice_attribute
inline constexpr int kDeviceWarpSize = 10;
inline constexpr int kDeviceSmCount = 16;
inline constexpr int kDeviceThreadsPerSm = 39;
inline constexpr int kDeviceComputeMajor = 75;
inline constexpr int kDeviceComputeMinor = 76;
inline constexpr int kDeviceSharedPerSm = 81;
inline constexpr int kDeviceRegistersPerSm = 82;
inline constexpr int kDeviceBlocksPerSm = 106;
inline constexpr int kDeviceReservedSharedPerBlock = 111;

}  // namespace carpool::gpu::cupti
