// Compares the declarations of interpose/library with NVIDIA's header: sizes and offsets of what is
// read, and the parameters of every function that has a wrapper.
#define __CUDA_API_VERSION_INTERNAL  // NOLINT(bugprone-reserved-identifier): NVIDIA's name
#define CUDA_ENABLE_DEPRECATED
#include <cstddef>
#include <cuda.h>
#include <type_traits>

#include "interpose/library/driver_abi.hpp"

namespace carpool::interpose {
namespace {

// Passed the same way: by the same registers or stack slots.
template <class Ours, class Theirs>
constexpr bool kSamePassing = sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
                              std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
                              std::is_class_v<Ours> == std::is_class_v<Theirs> &&
                              std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
// Pointers are, whatever they point to.
template <class Ours, class Theirs>
constexpr bool kSamePassing<Ours*, Theirs*> = true;

template <class Ours, class Theirs>
constexpr bool kSameFunction = false;
template <class... Ours, class... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
constexpr bool kSameFunction<Status(Ours...), CUresult(Theirs...)> =
    (kSamePassing<Ours, Theirs> && ...);

#define DRIVER_CALL(NAME, TYPES) \
  static_assert(kSameFunction<Status TYPES, decltype(::NAME)>, #NAME);
#include "interpose/library/driver_calls.inc"
#undef DRIVER_CALL
#define DRIVER_COPY(NAME, PARAMETERS, ARGUMENTS, COUNT) \
  static_assert(kSameFunction<Status PARAMETERS, decltype(::NAME)>, #NAME);
#include "interpose/library/copy_calls.inc"
#undef DRIVER_COPY

// Functions that are called without a wrapper.
static_assert(kSameFunction<Status(int*), decltype(::cuCtxGetDevice)>);
static_assert(kSameFunction<Status(Handle*), decltype(::cuCtxGetCurrent)>);
static_assert(kSameFunction<Status(int, unsigned*, int*), decltype(::cuDevicePrimaryCtxGetState)>);
static_assert(kSameFunction<Status(int*), decltype(::cuThreadExchangeStreamCaptureMode)>);
static_assert(kSameFunction<Status(Uuid*, int), decltype(::cuDeviceGetUuid)>);
static_assert(kSameFunction<Status(Uuid*, int), decltype(::cuDeviceGetUuid_v2)>);
static_assert(kSameFunction<Status(const char**, Handle), decltype(::cuFuncGetName)>);
static_assert(kSameFunction<Status(const char**, Handle), decltype(::cuKernelGetName)>);
static_assert(kSameFunction<Status(Handle, Handle*, std::size_t*), decltype(::cuGraphGetNodes)>);
static_assert(kSameFunction<Status(Handle, int*), decltype(::cuGraphNodeGetType)>);
static_assert(kSameFunction<Status(Handle, Handle*), decltype(::cuGraphChildGraphNodeGetGraph)>);
static_assert(
    kSameFunction<Status(Handle, AllocationNode*), decltype(::cuGraphMemAllocNodeGetParams)>);

static_assert(kSameFunction<Status(int, SmResource*, int), decltype(::cuDeviceGetDevResource)>);
static_assert(kSameFunction<
              Status(SmResource*, unsigned*, const SmResource*, SmResource*, unsigned, unsigned),
              decltype(::cuDevSmResourceSplitByCount)>);
static_assert(
    kSameFunction<Status(Handle*, SmResource*, unsigned), decltype(::cuDevResourceGenerateDesc)>);
static_assert(kSameFunction<Status(Handle*, Handle, int, unsigned), decltype(::cuGreenCtxCreate)>);
static_assert(
    kSameFunction<Status(Handle*, Handle, unsigned, int), decltype(::cuGreenCtxStreamCreate)>);

#define SAME_SIZE(OURS, THEIRS) static_assert(sizeof(OURS) == sizeof(THEIRS))
#define SAME_PLACE(OURS, FIELD, THEIRS, THEIR_FIELD) \
  static_assert(offsetof(OURS, FIELD) == offsetof(THEIRS, THEIR_FIELD))

SAME_SIZE(SmResource, CUdevResource);
SAME_PLACE(SmResource, sms, CUdevResource, sm.smCount);
static_assert(carpool::interpose::kSmResource == CU_DEV_RESOURCE_TYPE_SM);
SAME_SIZE(LaunchAttribute, CUlaunchAttribute);
SAME_SIZE(LaunchConfig, CUlaunchConfig);
SAME_PLACE(LaunchConfig, grid, CUlaunchConfig, gridDimX);
SAME_PLACE(LaunchConfig, block, CUlaunchConfig, blockDimX);
SAME_PLACE(LaunchConfig, stream, CUlaunchConfig, hStream);
SAME_SIZE(LaunchParameters, CUDA_LAUNCH_PARAMS);
SAME_PLACE(LaunchParameters, grid, CUDA_LAUNCH_PARAMS, gridDimX);
SAME_PLACE(LaunchParameters, stream, CUDA_LAUNCH_PARAMS, hStream);
SAME_SIZE(Copy2D, CUDA_MEMCPY2D);
SAME_PLACE(Copy2D, width_bytes, CUDA_MEMCPY2D, WidthInBytes);
SAME_PLACE(Copy2D, height, CUDA_MEMCPY2D, Height);
SAME_PLACE(Copy2D, source_type, CUDA_MEMCPY2D, srcMemoryType);
SAME_PLACE(Copy2D, target_type, CUDA_MEMCPY2D, dstMemoryType);
SAME_SIZE(OldCopy2D, CUDA_MEMCPY2D_v1);
SAME_PLACE(OldCopy2D, width_bytes, CUDA_MEMCPY2D_v1, WidthInBytes);
SAME_PLACE(OldCopy2D, height, CUDA_MEMCPY2D_v1, Height);
SAME_SIZE(Copy3D, CUDA_MEMCPY3D);
SAME_PLACE(Copy3D, width_bytes, CUDA_MEMCPY3D, WidthInBytes);
SAME_PLACE(Copy3D, depth, CUDA_MEMCPY3D, Depth);
SAME_PLACE(Copy3D, source_type, CUDA_MEMCPY3D, srcMemoryType);
SAME_PLACE(Copy3D, target_type, CUDA_MEMCPY3D, dstMemoryType);
SAME_PLACE(Copy3D, source_type, CUDA_MEMCPY3D_PEER, srcMemoryType);
SAME_PLACE(Copy3D, target_type, CUDA_MEMCPY3D_PEER, dstMemoryType);
SAME_SIZE(Copy3D, CUDA_MEMCPY3D_PEER);
SAME_PLACE(Copy3D, width_bytes, CUDA_MEMCPY3D_PEER, WidthInBytes);
SAME_PLACE(Copy3D, depth, CUDA_MEMCPY3D_PEER, Depth);
SAME_SIZE(OldCopy3D, CUDA_MEMCPY3D_v1);
SAME_PLACE(OldCopy3D, width_bytes, CUDA_MEMCPY3D_v1, WidthInBytes);
SAME_PLACE(OldCopy3D, depth, CUDA_MEMCPY3D_v1, Depth);
SAME_SIZE(BatchCopy3D, CUDA_MEMCPY3D_BATCH_OP);
SAME_PLACE(BatchCopy3D, extent, CUDA_MEMCPY3D_BATCH_OP, extent);
SAME_SIZE(AllocationProperties, CUmemAllocationProp);
SAME_PLACE(AllocationProperties, location, CUmemAllocationProp, location);
SAME_SIZE(MemoryLocation, CUmemLocation);
SAME_SIZE(AllocationNode, CUDA_MEM_ALLOC_NODE_PARAMS);
SAME_PLACE(AllocationNode, bytes, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
SAME_SIZE(ArrayShape, CUDA_ARRAY_DESCRIPTOR);
SAME_PLACE(ArrayShape, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME_SIZE(OldArrayShape, CUDA_ARRAY_DESCRIPTOR_v1);
SAME_SIZE(ArrayShape3D, CUDA_ARRAY3D_DESCRIPTOR);
SAME_PLACE(ArrayShape3D, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME_SIZE(OldArrayShape3D, CUDA_ARRAY3D_DESCRIPTOR_v1);
SAME_PLACE(OldArrayShape3D, flags, CUDA_ARRAY3D_DESCRIPTOR_v1, Flags);
SAME_SIZE(Uuid, CUuuid);

static_assert(kSuccess == CUDA_SUCCESS);
static_assert(kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(kNotSupported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(kLocationDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(kKernelNode == CU_GRAPH_NODE_TYPE_KERNEL);
static_assert(kChildGraphNode == CU_GRAPH_NODE_TYPE_GRAPH);
static_assert(kAllocationNode == CU_GRAPH_NODE_TYPE_MEM_ALLOC);

}  // namespace
}  // namespace carpool::interpose
