// Compiles only if the declarations of src/gpu/cupti/ agree with CUPTI's and NVTX's headers.
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <nvtx3/nvToolsExt.h>

#include "gpu/cupti/abi.hpp"
#include "gpu/cupti/nvtx_abi.hpp"
#include "gpu/cupti/profiler_abi.hpp"

namespace {

namespace ours = carpool::gpu::cupti;

#define SAME_OFFSET(Ours, member, Theirs, field) \
  static_assert(offsetof(ours::Ours, member) == offsetof(Theirs, field))
#define SAME_SIZE(Ours, Theirs) \
  static_assert(ours::Ours{}.size == Theirs##_STRUCT_SIZE && sizeof(ours::Ours) == sizeof(Theirs))
#define SAME_VALUE(ours_value, theirs) \
  static_assert(static_cast<long>(ours_value) == static_cast<long>(theirs))

template <class Theirs>
constexpr bool kernel_agrees() {
  return offsetof(ours::KernelRecord, registers_per_thread) ==
             offsetof(Theirs, registersPerThread) &&
         offsetof(ours::KernelRecord, start) == offsetof(Theirs, start) &&
         offsetof(ours::KernelRecord, end) == offsetof(Theirs, end) &&
         offsetof(ours::KernelRecord, device) == offsetof(Theirs, deviceId) &&
         offsetof(ours::KernelRecord, stream) == offsetof(Theirs, streamId) &&
         offsetof(ours::KernelRecord, grid) == offsetof(Theirs, gridX) &&
         offsetof(ours::KernelRecord, block) == offsetof(Theirs, blockX) &&
         offsetof(ours::KernelRecord, static_shared) == offsetof(Theirs, staticSharedMemory) &&
         offsetof(ours::KernelRecord, dynamic_shared) == offsetof(Theirs, dynamicSharedMemory) &&
         offsetof(ours::KernelRecord, local_per_thread) == offsetof(Theirs, localMemoryPerThread) &&
         offsetof(ours::KernelRecord, name) == offsetof(Theirs, name) &&
         offsetof(ours::KernelRecord, graph_node) == offsetof(Theirs, graphNodeId) &&
         sizeof(ours::KernelRecord) <= sizeof(Theirs);
}
static_assert(kernel_agrees<CUpti_ActivityKernel9>());   // CUDA 12
static_assert(kernel_agrees<CUpti_ActivityKernel10>());  // CUDA 13

template <class Theirs>
constexpr bool copy_agrees() {
  return offsetof(ours::MemcpyRecord, copy_kind) == offsetof(Theirs, copyKind) &&
         offsetof(ours::MemcpyRecord, bytes) == offsetof(Theirs, bytes) &&
         offsetof(ours::MemcpyRecord, start) == offsetof(Theirs, start) &&
         offsetof(ours::MemcpyRecord, end) == offsetof(Theirs, end) &&
         offsetof(ours::MemcpyRecord, device) == offsetof(Theirs, deviceId) &&
         offsetof(ours::MemcpyRecord, stream) == offsetof(Theirs, streamId) &&
         sizeof(ours::MemcpyRecord) <= sizeof(Theirs);
}
static_assert(copy_agrees<CUpti_ActivityMemcpy5>());
static_assert(copy_agrees<CUpti_ActivityMemcpy6>());
static_assert(copy_agrees<CUpti_ActivityMemcpyPtoP4>());
SAME_OFFSET(MemcpyRecord, graph_node, CUpti_ActivityMemcpy5, graphNodeId);
SAME_OFFSET(MemcpyRecord, graph_node, CUpti_ActivityMemcpy6, graphNodeId);

template <class Theirs>
constexpr bool set_agrees() {
  return offsetof(ours::MemsetRecord, bytes) == offsetof(Theirs, bytes) &&
         offsetof(ours::MemsetRecord, start) == offsetof(Theirs, start) &&
         offsetof(ours::MemsetRecord, end) == offsetof(Theirs, end) &&
         offsetof(ours::MemsetRecord, device) == offsetof(Theirs, deviceId) &&
         offsetof(ours::MemsetRecord, stream) == offsetof(Theirs, streamId) &&
         offsetof(ours::MemsetRecord, graph_node) == offsetof(Theirs, graphNodeId) &&
         sizeof(ours::MemsetRecord) <= sizeof(Theirs);
}
static_assert(set_agrees<CUpti_ActivityMemset3>());
static_assert(set_agrees<CUpti_ActivityMemset4>());

SAME_VALUE(ours::kMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME_VALUE(ours::kNotCompatible, CUPTI_ERROR_NOT_COMPATIBLE);
SAME_VALUE(ours::kInvalidKind, CUPTI_ERROR_INVALID_KIND);
SAME_VALUE(ours::kNotSupported, CUPTI_ERROR_NOT_SUPPORTED);
SAME_VALUE(ours::kInsufficientPrivileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME_VALUE(ours::kMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_VALUE(ours::kKindMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_VALUE(ours::kKindMemset, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_VALUE(ours::kKindConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_VALUE(ours::kKindMemcpyPeer, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME_VALUE(ours::kAttributeZeroedBuffer, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
SAME_VALUE(ours::kFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME_VALUE(ours::kCopyDeviceToDevice, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
SAME_VALUE(ours::kCopyPeerToPeer, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
SAME_VALUE(ours::kCopyArrayToHost, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
SAME_VALUE(ours::kDeviceReservedSharedPerBlock,
           CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
SAME_VALUE(ours::kDeviceBlocksPerSm, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
SAME_VALUE(ours::kDeviceRegistersPerSm, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME_VALUE(ours::kDeviceSharedPerSm, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME_VALUE(ours::kDeviceThreadsPerSm, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME_VALUE(ours::kDeviceSmCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);

SAME_VALUE(ours::kDriverApi, CUPTI_CB_DOMAIN_DRIVER_API);
SAME_VALUE(ours::kLaunchCalls[0], CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
SAME_VALUE(ours::kLaunchCalls[1], CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz);
SAME_VALUE(ours::kLaunchCalls[2], CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel);
SAME_VALUE(ours::kLaunchCalls[3], CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz);
SAME_VALUE(ours::kLaunchCalls[4], CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice);
SAME_VALUE(ours::kLaunchCalls[5], CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
SAME_VALUE(ours::kLaunchCalls[6], CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz);
SAME_VALUE(ours::kLaunchCalls[7], CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
SAME_VALUE(ours::kLaunchCalls[8], CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz);
SAME_VALUE(ours::kCallEntered, CUPTI_API_ENTER);
SAME_OFFSET(CallbackData, site, CUpti_CallbackData, callbackSite);

SAME_VALUE(ours::kProfilerPmSampling, CUPTI_PROFILER_TYPE_PM_SAMPLING);
SAME_VALUE(ours::kApiPmSampling, CUPTI_PROFILER_PM_SAMPLING);
SAME_VALUE(ours::kLevelSupported, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
SAME_VALUE(ours::kTriggerTime, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
SAME_VALUE(ours::kKeepLatest, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST);
SAME_SIZE(ProfilerInitialize, CUpti_Profiler_Initialize_Params);
SAME_SIZE(DeviceSupported, CUpti_Profiler_DeviceSupported_Params);
SAME_SIZE(ChipName, CUpti_Device_GetChipName_Params);
SAME_SIZE(HostInitialize, CUpti_Profiler_Host_Initialize_Params);
SAME_SIZE(HostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params);
SAME_SIZE(AddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params);
SAME_SIZE(ConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params);
SAME_SIZE(ConfigImage, CUpti_Profiler_Host_GetConfigImage_Params);
SAME_SIZE(PassCount, CUpti_Profiler_Host_GetNumOfPasses_Params);
SAME_SIZE(Evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
SAME_SIZE(CounterAvailability, CUpti_PmSampling_GetCounterAvailability_Params);
SAME_SIZE(SamplingEnable, CUpti_PmSampling_Enable_Params);
SAME_SIZE(SamplingCall, CUpti_PmSampling_Disable_Params);
SAME_SIZE(SamplingCall, CUpti_PmSampling_Start_Params);
SAME_SIZE(SamplingCall, CUpti_PmSampling_Stop_Params);
SAME_SIZE(SamplingConfig, CUpti_PmSampling_SetConfig_Params);
SAME_SIZE(CounterDataSize, CUpti_PmSampling_GetCounterDataSize_Params);
SAME_SIZE(CounterDataInitialize, CUpti_PmSampling_CounterDataImage_Initialize_Params);
SAME_SIZE(Decode, CUpti_PmSampling_DecodeData_Params);
SAME_SIZE(CounterDataInfo, CUpti_PmSampling_GetCounterDataInfo_Params);
SAME_SIZE(SampleInfo, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
SAME_OFFSET(DeviceSupported, api, CUpti_Profiler_DeviceSupported_Params, api);
SAME_OFFSET(HostInitialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
SAME_OFFSET(Evaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
SAME_OFFSET(Evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
SAME_OFFSET(SamplingConfig, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME_OFFSET(SamplingConfig, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
SAME_OFFSET(CounterDataSize, bytes, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
SAME_OFFSET(Decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
SAME_OFFSET(CounterDataInfo,
            completed,
            CUpti_PmSampling_GetCounterDataInfo_Params,
            numCompletedSamples);
SAME_OFFSET(SampleInfo, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);

namespace nvtx_ours = carpool::gpu::nvtx;
static_assert(sizeof(nvtx_ours::EventAttributes) == sizeof(nvtxEventAttributes_t));
static_assert(offsetof(nvtx_ours::EventAttributes, message) ==
              offsetof(nvtxEventAttributes_t, message));
static_assert(offsetof(nvtx_ours::EventAttributes, message_type) ==
              offsetof(nvtxEventAttributes_t, messageType));
SAME_VALUE(nvtx_ours::kMessageRegistered, NVTX_MESSAGE_TYPE_REGISTERED);
SAME_VALUE(nvtx_ours::kTableCallbacks, NVTX_ETID_CALLBACKS);
SAME_VALUE(nvtx_ours::kModuleCore, NVTX_CB_MODULE_CORE);
SAME_VALUE(nvtx_ours::kRangeStartEx, NVTX_CBID_CORE_RangeStartEx);
SAME_VALUE(nvtx_ours::kRangeStartA, NVTX_CBID_CORE_RangeStartA);
SAME_VALUE(nvtx_ours::kRangeEnd, NVTX_CBID_CORE_RangeEnd);
SAME_VALUE(nvtx_ours::kRangePushEx, NVTX_CBID_CORE_RangePushEx);
SAME_VALUE(nvtx_ours::kRangePushA, NVTX_CBID_CORE_RangePushA);
SAME_VALUE(nvtx_ours::kRangePop, NVTX_CBID_CORE_RangePop);
SAME_VALUE(nvtx_ours::kModuleCore2, NVTX_CB_MODULE_CORE2);
SAME_VALUE(nvtx_ours::kDomainRangeStartEx, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME_VALUE(nvtx_ours::kDomainRangeEnd, NVTX_CBID_CORE2_DomainRangeEnd);
SAME_VALUE(nvtx_ours::kDomainRangePushEx, NVTX_CBID_CORE2_DomainRangePushEx);
SAME_VALUE(nvtx_ours::kDomainRangePop, NVTX_CBID_CORE2_DomainRangePop);
SAME_VALUE(nvtx_ours::kDomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME_VALUE(nvtx_ours::kDomainCreateA, NVTX_CBID_CORE2_DomainCreateA);

}  // namespace
