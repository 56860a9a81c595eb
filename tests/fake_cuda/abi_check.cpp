// Compiles only if the declarations of abi/ agree with NVIDIA's headers: every exported function
// with the type that cudaTypedefs.h gives it, every structure and number with cuda.h.
#define __CUDA_API_VERSION_INTERNAL  // NOLINT(bugprone-reserved-identifier): NVIDIA's name
#include <cstddef>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <tuple>
#include <type_traits>

#include "abi/types.hpp"

namespace fake_cuda {  // the lists name types without their namespace
namespace {

namespace ours = fake_cuda;

// Whether a caller passes both in the same way.
template <class Ours, class Theirs>
constexpr bool passed_alike() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
    return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;  // all of one size
  } else {
    constexpr bool kNumbers = (std::is_integral_v<Ours> || std::is_enum_v<Ours>) &&
                              (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
    constexpr bool kClasses = std::is_class_v<Ours> && std::is_class_v<Theirs>;
    return sizeof(Ours) == sizeof(Theirs) && (kNumbers || kClasses);
  }
}

template <class Function>
struct Parameters;
template <class Return, class... Each>
struct Parameters<Return(Each...)> {
  using Types = std::tuple<Each...>;
};

template <class Ours, class Theirs, std::size_t... Number>
constexpr bool all_alike(std::index_sequence<Number...> /*numbers*/) {
  return (
      passed_alike<std::tuple_element_t<Number, Ours>, std::tuple_element_t<Number, Theirs>>() &&
      ...);
}

template <class Ours, class Theirs>
constexpr bool same_function() {
  using Mine = typename Parameters<Ours>::Types;
  using Other = typename Parameters<std::remove_pointer_t<Theirs>>::Types;
  if constexpr (std::tuple_size_v<Mine> == std::tuple_size_v<Other>) {
    return all_alike<Mine, Other>(std::make_index_sequence<std::tuple_size_v<Mine>>());
  } else {
    return false;
  }
}

#define TWIN_any
#define TWIN_ptsz _ptsz
#define TWIN_ptds _ptds
#define PASTE(lookup, version, twin) PFN_##lookup##_v##version##twin
#define TYPE_OF(lookup, version, twin) PASTE(lookup, version, twin)
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) \
  static_assert(same_function<ours::Result parameters, TYPE_OF(lookup, version, TWIN_##twin)>());
#include "abi/all.inc"
#undef FAKE_CUDA_FUNCTION

#define SAME_SIZE(Ours, Theirs) static_assert(sizeof(ours::Ours) == sizeof(Theirs))
#define SAME_PLACE(Ours, member, Theirs, field) \
  static_assert(offsetof(ours::Ours, member) == offsetof(Theirs, field))
#define SAME_VALUE(mine, theirs) static_assert(static_cast<long>(mine) == static_cast<long>(theirs))

SAME_SIZE(Uuid, CUuuid);
SAME_SIZE(LaunchAttribute, CUlaunchAttribute);
SAME_PLACE(LaunchAttribute, value, CUlaunchAttribute, value);
SAME_SIZE(LaunchConfig, CUlaunchConfig);
SAME_PLACE(LaunchConfig, stream, CUlaunchConfig, hStream);
SAME_PLACE(LaunchConfig, attributes, CUlaunchConfig, attrs);
SAME_PLACE(LaunchConfig, attribute_count, CUlaunchConfig, numAttrs);
SAME_SIZE(KernelNodeParams1, CUDA_KERNEL_NODE_PARAMS_v1);
SAME_SIZE(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v2);
SAME_PLACE(KernelNodeParams, parameters, CUDA_KERNEL_NODE_PARAMS_v2, kernelParams);
SAME_PLACE(KernelNodeParams, kernel, CUDA_KERNEL_NODE_PARAMS_v2, kern);
SAME_PLACE(KernelNodeParams, context, CUDA_KERNEL_NODE_PARAMS_v2, ctx);
SAME_SIZE(MultiLaunch, CUDA_LAUNCH_PARAMS_v1);
SAME_PLACE(MultiLaunch, stream, CUDA_LAUNCH_PARAMS_v1, hStream);
SAME_PLACE(MultiLaunch, parameters, CUDA_LAUNCH_PARAMS_v1, kernelParams);
SAME_SIZE(Copy2D, CUDA_MEMCPY2D_v2);
SAME_PLACE(Copy2D, source_device, CUDA_MEMCPY2D_v2, srcDevice);
SAME_PLACE(Copy2D, target_type, CUDA_MEMCPY2D_v2, dstMemoryType);
SAME_PLACE(Copy2D, width, CUDA_MEMCPY2D_v2, WidthInBytes);
SAME_SIZE(Copy3D, CUDA_MEMCPY3D_v2);
SAME_PLACE(Copy3D, source_device, CUDA_MEMCPY3D_v2, srcDevice);
SAME_PLACE(Copy3D, source_pitch, CUDA_MEMCPY3D_v2, srcPitch);
SAME_PLACE(Copy3D, target_array, CUDA_MEMCPY3D_v2, dstArray);
SAME_PLACE(Copy3D, depth, CUDA_MEMCPY3D_v2, Depth);
SAME_SIZE(Copy3D, CUDA_MEMCPY3D_PEER_v1);
SAME_PLACE(Copy3D, reserved_source, CUDA_MEMCPY3D_PEER_v1, srcContext);
SAME_PLACE(Copy3D, target_pitch, CUDA_MEMCPY3D_PEER_v1, dstPitch);
SAME_SIZE(MemsetNodeParams, CUDA_MEMSET_NODE_PARAMS_v1);
SAME_PLACE(MemsetNodeParams, element_size, CUDA_MEMSET_NODE_PARAMS_v1, elementSize);
SAME_SIZE(HostNodeParams, CUDA_HOST_NODE_PARAMS_v1);
SAME_SIZE(Location, CUmemLocation);
SAME_SIZE(AllocationProperties, CUmemAllocationProp);
SAME_PLACE(AllocationProperties, location, CUmemAllocationProp, location);
SAME_PLACE(AllocationProperties, flags, CUmemAllocationProp, allocFlags);
SAME_SIZE(PoolProperties, CUmemPoolProps);
SAME_PLACE(PoolProperties, location, CUmemPoolProps, location);
SAME_PLACE(PoolProperties, maximum, CUmemPoolProps, maxSize);
SAME_SIZE(AccessDescription, CUmemAccessDesc);
SAME_PLACE(AccessDescription, flags, CUmemAccessDesc, flags);
SAME_SIZE(AllocNodeParams, CUDA_MEM_ALLOC_NODE_PARAMS_v1);
SAME_PLACE(AllocNodeParams, bytes, CUDA_MEM_ALLOC_NODE_PARAMS_v1, bytesize);
SAME_PLACE(AllocNodeParams, address, CUDA_MEM_ALLOC_NODE_PARAMS_v1, dptr);
SAME_SIZE(InstantiateParams, CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_PLACE(InstantiateParams, result, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
SAME_SIZE(ExecUpdateInfo, CUgraphExecUpdateResultInfo);
SAME_PLACE(ExecUpdateInfo, error_from, CUgraphExecUpdateResultInfo, errorFromNode);
SAME_SIZE(EdgeData, CUgraphEdgeData);
SAME_SIZE(CopyAttributes, CUmemcpyAttributes);
SAME_SIZE(ArrayDescriptor, CUDA_ARRAY_DESCRIPTOR_v2);
SAME_PLACE(ArrayDescriptor, channels, CUDA_ARRAY_DESCRIPTOR_v2, NumChannels);
SAME_SIZE(Array3dDescriptor, CUDA_ARRAY3D_DESCRIPTOR_v2);
SAME_PLACE(Array3dDescriptor, flags, CUDA_ARRAY3D_DESCRIPTOR_v2, Flags);
SAME_SIZE(IpcHandle, CUipcMemHandle);
SAME_SIZE(ExecAffinity, CUexecAffinityParam);
SAME_SIZE(ContextParams, CUctxCreateParams);
SAME_SIZE(DeviceResource, CUdevResource);
SAME_PLACE(DeviceResource, count, CUdevResource, sm.smCount);
SAME_PLACE(DeviceResource, least, CUdevResource, sm.minSmPartitionSize);
SAME_PLACE(DeviceResource, multiple_of, CUdevResource, sm.smCoscheduledAlignment);

SAME_VALUE(ours::kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME_VALUE(ours::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(ours::kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME_VALUE(ours::kNoDevice, CUDA_ERROR_NO_DEVICE);
SAME_VALUE(ours::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME_VALUE(ours::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME_VALUE(ours::kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
SAME_VALUE(ours::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME_VALUE(ours::kIllegalState, CUDA_ERROR_ILLEGAL_STATE);
SAME_VALUE(ours::kNotFound, CUDA_ERROR_NOT_FOUND);
SAME_VALUE(ours::kNotReady, CUDA_ERROR_NOT_READY);
SAME_VALUE(ours::kContextDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME_VALUE(ours::kAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME_VALUE(ours::kNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME_VALUE(ours::kCooperativeTooLarge, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
SAME_VALUE(ours::kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME_VALUE(ours::kCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME_VALUE(ours::kCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME_VALUE(ours::kCaptureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
SAME_VALUE(ours::kCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME_VALUE(ours::kCaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME_VALUE(ours::kCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME_VALUE(ours::kCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME_VALUE(ours::kCapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
SAME_VALUE(ours::kCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME_VALUE(ours::kExecUpdateFailure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
SAME_VALUE(ours::kInvalidResourceType, CUDA_ERROR_INVALID_RESOURCE_TYPE);
SAME_VALUE(ours::kInvalidResourceConfiguration, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);

SAME_VALUE(ours::kNonBlocking, CU_STREAM_NON_BLOCKING);
SAME_VALUE(ours::kLookupLegacy, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
SAME_VALUE(ours::kLookupPerThread, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
SAME_VALUE(ours::kSymbolNotFound, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
SAME_VALUE(ours::kVersionNotSufficient, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
SAME_VALUE(ours::kCaptureGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME_VALUE(ours::kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME_VALUE(ours::kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(ours::kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME_VALUE(ours::kCaptureBroken, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME_VALUE(ours::kNodeKernel, CU_GRAPH_NODE_TYPE_KERNEL);
SAME_VALUE(ours::kNodeCopy, CU_GRAPH_NODE_TYPE_MEMCPY);
SAME_VALUE(ours::kNodeSet, CU_GRAPH_NODE_TYPE_MEMSET);
SAME_VALUE(ours::kNodeHost, CU_GRAPH_NODE_TYPE_HOST);
SAME_VALUE(ours::kNodeGraph, CU_GRAPH_NODE_TYPE_GRAPH);
SAME_VALUE(ours::kNodeEmpty, CU_GRAPH_NODE_TYPE_EMPTY);
SAME_VALUE(ours::kNodeWaitEvent, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
SAME_VALUE(ours::kNodeRecordEvent, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
SAME_VALUE(ours::kNodeAlloc, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
SAME_VALUE(ours::kNodeFree, CU_GRAPH_NODE_TYPE_MEM_FREE);
SAME_VALUE(ours::kNodeMemoryOperation, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
SAME_VALUE(ours::kUpdateTopologyChanged, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
SAME_VALUE(ours::kUpdateNodeTypeChanged, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
SAME_VALUE(ours::kMemoryHost, CU_MEMORYTYPE_HOST);
SAME_VALUE(ours::kMemoryDevice, CU_MEMORYTYPE_DEVICE);
SAME_VALUE(ours::kMemoryArray, CU_MEMORYTYPE_ARRAY);
SAME_VALUE(ours::kMemoryUnified, CU_MEMORYTYPE_UNIFIED);
SAME_VALUE(ours::kAttributePriority, CU_LAUNCH_ATTRIBUTE_PRIORITY);
SAME_VALUE(ours::kAttributeCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME_VALUE(ours::kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(ours::kHandleFile, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME_VALUE(ours::kResourceInvalid, CU_DEV_RESOURCE_TYPE_INVALID);
SAME_VALUE(ours::kResourceSm, CU_DEV_RESOURCE_TYPE_SM);
SAME_VALUE(ours::kSplitSingly, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING);
SAME_VALUE(ours::kSplitForClusters, CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE);
SAME_VALUE(ours::kGreenDefaultStream, CU_GREEN_CTX_DEFAULT_STREAM);
SAME_VALUE(ours::kPoolReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME_VALUE(ours::kPoolReserved, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
SAME_VALUE(ours::kPoolUsedHigh, CU_MEMPOOL_ATTR_USED_MEM_HIGH);

}  // namespace
}  // namespace fake_cuda
