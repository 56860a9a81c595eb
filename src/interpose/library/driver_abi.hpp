// Declarations of the CUDA driver interface that libcarpool_cuda.so wraps or calls, so that
// NVIDIA's headers are not needed to build. Layouts and numbers are NVIDIA's;
// tests/shim/abi_check.cpp compares them where the headers are installed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace carpool::interpose {

using Status = int;  // CUresult
inline constexpr Status kSuccess = 0;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kNoDevice = 100;
inline constexpr Status kNotFound = 500;
inline constexpr Status kNotReady = 600;
inline constexpr Status kAlreadyRegistered = 712;
inline constexpr Status kNotSupported = 801;

// Streams, contexts, functions, graphs, …: the library compares handles and never looks inside.
using Handle = void*;
using DevicePointer = unsigned long long;
using OldDevicePointer = unsigned;  // of functions from before CUDA 3.2
using MemoryHandle = unsigned long long;

using HostFunction = void (*)(void* data);
using StreamFunction = void (*)(Handle stream, Status status, void* data);

// Special values of a stream.
inline constexpr std::uintptr_t kLegacyStream = 1;
inline constexpr std::uintptr_t kPerThreadStream = 2;

inline constexpr unsigned kNonBlockingStream = 1;  // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kEventWithoutTime = 2;   // CU_EVENT_DISABLE_TIMING

struct LaunchConfig {
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};

struct LaunchParameters {  // CUDA_LAUNCH_PARAMS
  Handle function;
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned shared_bytes;
  Handle stream;
  void** parameters;
};

// CUDA_MEMCPY2D and CUDA_MEMCPY3D: how much is copied, and between which kinds of memory.
inline constexpr unsigned kHostMemory = 1;  // CU_MEMORYTYPE_HOST
inline constexpr unsigned kDeviceMemory = 2;
inline constexpr unsigned kArrayMemory = 3;
struct Copy2D {
  std::array<std::uint64_t, 2> source_offset;
  unsigned source_type;
  std::array<std::uint64_t, 4> source;
  std::array<std::uint64_t, 2> target_offset;
  unsigned target_type;
  std::array<std::uint64_t, 4> target;
  std::size_t width_bytes;
  std::size_t height;
};
struct OldCopy2D {
  std::array<std::uint64_t, 10> places;
  std::array<unsigned, 1> pitch;
  unsigned width_bytes;
  unsigned height;
};
struct Copy3D {  // CUDA_MEMCPY3D_PEER too
  std::array<std::uint64_t, 4> source_offset;
  unsigned source_type;
  std::array<std::uint64_t, 6> source;
  std::array<std::uint64_t, 4> target_offset;
  unsigned target_type;
  std::array<std::uint64_t, 6> target;
  std::size_t width_bytes;
  std::size_t height;
  std::size_t depth;
};
struct OldCopy3D {
  std::array<std::uint64_t, 16> places;
  unsigned width_bytes;
  unsigned height;
  unsigned depth;
};
struct BatchCopy3D {
  std::array<std::uint64_t, 10> operands;
  std::array<std::size_t, 3> extent;
  int order;
  unsigned flags;
};

struct MemoryLocation {
  int type;
  int id;
};
inline constexpr int kLocationDevice = 1;

struct AllocationProperties {  // CUmemAllocationProp
  int type;
  int handle_types;
  MemoryLocation location;
  void* windows_metadata;
  std::uint64_t flags;
};

struct PoolProperties {  // CUmemPoolProps
  int type;
  int handle_types;
  MemoryLocation location;
  void* windows_attributes;
  std::size_t max_size;
  std::array<unsigned char, 56> reserved;
};

struct AllocationNode {  // CUDA_MEM_ALLOC_NODE_PARAMS
  PoolProperties pool;
  const void* access;
  std::size_t access_count;
  std::size_t bytes;
  DevicePointer pointer;
};

struct ArrayShape {
  std::size_t width;
  std::size_t height;
  int format;
  unsigned channels;
};
struct OldArrayShape {
  unsigned width;
  unsigned height;
  int format;
  unsigned channels;
};
struct ArrayShape3D {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  int format;
  unsigned channels;
  unsigned flags;
};
struct OldArrayShape3D {
  unsigned width;
  unsigned height;
  unsigned depth;
  int format;
  unsigned channels;
  unsigned flags;
};

struct SmResource {  // CUdevResource
  int type;
  std::array<unsigned char, 92> internal;
  unsigned sms;
  unsigned least_part;
  unsigned alignment;
  std::array<unsigned char, 36> reserved;
};
inline constexpr int kSmResource = 1;

struct LaunchAttribute {
  int id;
  std::array<unsigned char, 68> value;
};
// CUlaunchAttributeID of those that a kernel keeps on a part of the SMs
inline constexpr std::array<int, 7> kHarmlessAttributes = {
    4,   // cluster dimension
    5,   // cluster scheduling
    6,   // start before the kernel ahead of it has ended
    8,   // priority
    9,   // memory synchronisation domain map
    10,  // memory synchronisation domain
    14,  // shared memory carveout
};

// CUgraphNodeType
inline constexpr int kKernelNode = 0;
inline constexpr int kChildGraphNode = 4;
inline constexpr int kAllocationNode = 10;

// CUdriverProcAddress_flags
inline constexpr std::uint64_t kPerThreadFunctions = 2;

struct Uuid {
  std::array<unsigned char, 16> bytes;
};

}  // namespace carpool::interpose
