// The CUDA driver's types as the fake declares them: same layout, own names. abi_check.cpp compares
// them with NVIDIA's header where that is installed. A handle points to the fake's own object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fake_cuda {

class Context;
class Event;
class Stream;
struct Array;
struct Function;
struct Graph;
struct GraphExec;
struct GreenContext;
struct Kernel;
struct Library;
struct MipmappedArray;
struct Module;
struct Node;
struct Pool;
struct ResourceDescriptor;

using Result = int;
using DevicePtr = std::uint64_t;
using HostFunction = void (*)(void* data);
using StreamCallback = void (*)(Stream* stream, Result status, void* data);

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotInitialized = 3;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kInvalidDevice = 101;
inline constexpr Result kInvalidContext = 201;
inline constexpr Result kOperatingSystem = 304;
inline constexpr Result kInvalidHandle = 400;
inline constexpr Result kIllegalState = 401;
inline constexpr Result kNotFound = 500;
inline constexpr Result kNotReady = 600;
inline constexpr Result kContextDestroyed = 709;
inline constexpr Result kAlreadyRegistered = 712;
inline constexpr Result kNotRegistered = 713;
inline constexpr Result kCooperativeTooLarge = 720;
inline constexpr Result kNotSupported = 801;
inline constexpr Result kCaptureUnsupported = 900;
inline constexpr Result kCaptureInvalidated = 901;
inline constexpr Result kCaptureMerge = 902;
inline constexpr Result kCaptureUnmatched = 903;
inline constexpr Result kCaptureUnjoined = 904;
inline constexpr Result kCaptureIsolation = 905;
inline constexpr Result kCaptureImplicit = 906;
inline constexpr Result kCapturedEvent = 907;
inline constexpr Result kCaptureWrongThread = 908;
inline constexpr Result kExecUpdateFailure = 910;
inline constexpr Result kInvalidResourceType = 914;
inline constexpr Result kInvalidResourceConfiguration = 915;

inline constexpr std::uintptr_t kLegacyStream = 1;
inline constexpr std::uintptr_t kPerThreadStream = 2;
inline constexpr unsigned kNonBlocking = 1;

inline constexpr std::uint64_t kLookupLegacy = 1;
inline constexpr std::uint64_t kLookupPerThread = 2;
inline constexpr int kSymbolNotFound = 1;
inline constexpr int kVersionNotSufficient = 2;

inline constexpr int kCaptureGlobal = 0;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr int kCaptureRelaxed = 2;
inline constexpr int kCaptureNone = 0;
inline constexpr int kCaptureActive = 1;
inline constexpr int kCaptureBroken = 2;

inline constexpr int kNodeKernel = 0;
inline constexpr int kNodeCopy = 1;
inline constexpr int kNodeSet = 2;
inline constexpr int kNodeHost = 3;
inline constexpr int kNodeGraph = 4;
inline constexpr int kNodeEmpty = 5;
inline constexpr int kNodeWaitEvent = 6;
inline constexpr int kNodeRecordEvent = 7;
inline constexpr int kNodeAlloc = 10;
inline constexpr int kNodeFree = 11;
inline constexpr int kNodeMemoryOperation = 12;

inline constexpr int kUpdateTopologyChanged = 2;
inline constexpr int kUpdateNodeTypeChanged = 3;

inline constexpr int kMemoryHost = 1;
inline constexpr int kMemoryDevice = 2;
inline constexpr int kMemoryArray = 3;
inline constexpr int kMemoryUnified = 4;

inline constexpr int kAttributePriority = 8;
inline constexpr int kAttributeCooperative = 2;

inline constexpr int kLocationDevice = 1;
inline constexpr int kHandleFile = 1;

inline constexpr int kResourceInvalid = 0;
inline constexpr int kResourceSm = 1;
inline constexpr unsigned kSplitSingly = 1;
inline constexpr unsigned kSplitForClusters = 2;
inline constexpr unsigned kGreenDefaultStream = 1;

inline constexpr int kPoolReleaseThreshold = 4;
inline constexpr int kPoolReserved = 5;
inline constexpr int kPoolReservedHigh = 6;
inline constexpr int kPoolUsed = 7;
inline constexpr int kPoolUsedHigh = 8;

struct Uuid {
  std::array<char, 16> bytes;
};

struct LaunchAttribute {
  int id;
  std::array<char, 4> pad;
  union {
    std::array<char, 64> bytes;
    int number;
  } value;
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct KernelNodeParams1 {
  Function* function;
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  void** parameters;
  void** extra;
};

struct KernelNodeParams {
  Function* function;
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  Kernel* kernel;
  Context* context;
};

struct MultiLaunch {
  Function* function;
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream* stream;
  void** parameters;
};

struct Copy2D {
  std::size_t source_x, source_y;
  int source_type;
  const void* source_host;
  DevicePtr source_device;
  Array* source_array;
  std::size_t source_pitch;
  std::size_t target_x, target_y;
  int target_type;
  void* target_host;
  DevicePtr target_device;
  Array* target_array;
  std::size_t target_pitch;
  std::size_t width, height;
};

struct Copy3D {
  std::size_t source_x, source_y, source_z, source_level;
  int source_type;
  const void* source_host;
  DevicePtr source_device;
  Array* source_array;
  void* reserved_source;
  std::size_t source_pitch, source_height;
  std::size_t target_x, target_y, target_z, target_level;
  int target_type;
  void* target_host;
  DevicePtr target_device;
  Array* target_array;
  void* reserved_target;
  std::size_t target_pitch, target_height;
  std::size_t width, height, depth;
};

struct MemsetNodeParams {
  DevicePtr target;
  std::size_t pitch;
  unsigned value;
  unsigned element_size;
  std::size_t width, height;
};

struct HostNodeParams {
  HostFunction function;
  void* data;
};

struct Location {
  int type;
  int id;
};

struct AllocationProperties {
  int type;
  int handle_types;
  Location location;
  void* windows;
  std::array<unsigned char, 8> flags;
};

struct PoolProperties {
  int type;
  int handle_types;
  Location location;
  void* windows;
  std::size_t maximum;
  unsigned short usage;
  std::array<unsigned char, 54> reserved;
};

struct AccessDescription {
  Location location;
  int flags;
};

struct AllocNodeParams {
  PoolProperties pool;
  const AccessDescription* access;
  std::size_t access_count;
  std::size_t bytes;
  DevicePtr address;
};

struct InstantiateParams {
  std::uint64_t flags;
  Stream* upload_stream;
  Node* error_node;
  int result;
};

struct ExecUpdateInfo {
  int result;
  Node* error_node;
  Node* error_from;
};

struct EdgeData {
  unsigned char from_port, to_port, type;
  std::array<unsigned char, 5> reserved;
};

struct CopyAttributes {
  int source_order;
  Location source, target;
  unsigned flags;
};

struct ArrayDescriptor {
  std::size_t width, height;
  int format;
  unsigned channels;
};

struct Array3dDescriptor {
  std::size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

struct IpcHandle {
  std::array<char, 64> bytes;
};

struct ExecAffinity {
  int type;
  unsigned sm_count;
};

struct ContextParams {
  ExecAffinity* affinity;
  int affinity_count;
  void* graphics;
};

// Multiprocessors, all of a device or some. What the first lines keep is padding to the caller.
struct DeviceResource {
  int type;
  int device;
  unsigned split;  // the call that made it; 0: the whole of a device or context
  unsigned first;  // where it begins in what was split
  std::array<unsigned char, 80> padding;
  unsigned count, least, multiple_of;
  std::array<unsigned char, 36> oversize;
};

}  // namespace fake_cuda
