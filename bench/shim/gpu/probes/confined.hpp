// A part of the SMs: a green context, and a stream of it that takes part in the order of another
// one.
#pragma once

#include "cuda.hpp"

namespace probes {

struct Confined {
  CUgreenCtx green{};
  CUstream stream{};
  CUevent before{};
  CUevent after{};
  unsigned sms = 0;

  explicit Confined(unsigned wanted) {
    CUdevice device{};
    CUdevResource whole{};
    CUdevResource part{};
    CUdevResource rest{};
    CUdevResourceDesc description{};
    unsigned groups = 1;
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDeviceGetDevResource(device, &whole, CU_DEV_RESOURCE_TYPE_SM));
    NEED(cuDevSmResourceSplitByCount(&part, &groups, &whole, &rest, 0, wanted));
    NEED(cuDevResourceGenerateDesc(&description, &part, 1));
    NEED(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
    NEED(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    NEED(cuEventCreate(&before, CU_EVENT_DISABLE_TIMING));
    CUcontext own{};
    NEED(cuCtxFromGreenCtx(&own, green));
    NEED(cuCtxPushCurrent(own));
    NEED(cuEventCreate(&after, CU_EVENT_DISABLE_TIMING));
    NEED(cuCtxPopCurrent(&own));
    sms = part.sm.smCount;
  }

  // As if it were launched in `ordered`, with a function of the primary context.
  void launch_spin(const Gpu& gpu,
                   CUstream ordered,
                   unsigned blocks,
                   unsigned long long length) const {
    void* parameters[] = {&length};
    NEED(cuEventRecord(before, ordered));
    NEED(cuStreamWaitEvent(stream, before, 0));
    NEED(cuLaunchKernel(gpu.spin, blocks, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
    NEED(cuEventRecord(after, stream));
    NEED(cuStreamWaitEvent(ordered, after, 0));
  }
};

}  // namespace probes
