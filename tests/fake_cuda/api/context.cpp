// Contexts, with all the ways to make one.
#include "../driver/define.hpp"
#include "../driver/graph.hpp"

namespace fake_cuda {
namespace {

constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

Result create(Context** context, unsigned flags, int device) {
  Driver& driver = Driver::get();
  if (device < 0 || device >= driver.gpus()) {
    return kInvalidDevice;
  }
  const Guard guard = driver.lock();
  *context = driver.make_context(device, flags);
  context_stack().push_back(*context);
  return kSuccess;
}

Result destroy(Context* context) {
  Driver& driver = Driver::get();
  Guard guard = driver.lock();
  if (!driver.knows(context) || context->green) {
    return kInvalidContext;
  }
  driver.wait_for(guard, driver.ends_of(*context));
  driver.destroy_context(*context);
  if (current_context() == context) {
    context_stack().pop_back();
  }
  return kSuccess;
}

Result push(Context* context) {
  const Guard guard = Driver::get().lock();
  if (!Driver::get().knows(context)) {
    return kInvalidContext;
  }
  context_stack().push_back(context);
  return kSuccess;
}

Result pop(Context** context) {
  if (current_context() == nullptr) {
    return kInvalidContext;
  }
  if (context != nullptr) {
    *context = current_context();
  }
  context_stack().pop_back();
  return kSuccess;
}

Result set_current(Context* context) {
  std::vector<Context*>& stack = context_stack();
  const Guard guard = Driver::get().lock();
  if (context != nullptr && !Driver::get().knows(context)) {
    return kInvalidContext;
  }
  if (!stack.empty()) {
    stack.pop_back();
  }
  if (context != nullptr) {
    stack.push_back(context);
  }
  return kSuccess;
}

Result get_current(Context** context) {
  *context = current_context();
  return kSuccess;
}

Result device_of(int* device, Context* context) {
  if (context == nullptr) {
    context = current_context();
  }
  if (context == nullptr) {
    return kInvalidContext;
  }
  *device = context->device;
  return kSuccess;
}

Result synchronize(Context* context) {
  Driver& driver = Driver::get();
  if (context == nullptr) {
    context = current_context();
  }
  Guard guard = driver.lock();
  if (context == nullptr || !driver.knows(context)) {
    return kInvalidContext;
  }
  if (const Result result = Captures::get().forbid_for_context(driver, *context);
      result != kSuccess) {
    return result;
  }
  driver.counts().add(Count::synchronizations);
  driver.wait_for(guard, driver.ends_of(*context));
  return kSuccess;
}

Result priority_range(int* least, int* greatest) {
  if (least != nullptr) {
    *least = kLeastPriority;
  }
  if (greatest != nullptr) {
    *greatest = kGreatestPriority;
  }
  return kSuccess;
}

Result flags_of(unsigned* flags) {
  if (current_context() == nullptr) {
    return kInvalidContext;
  }
  *flags = current_context()->flags;
  return kSuccess;
}

Result api_version(unsigned* version) {
  *version = 3020;
  return kSuccess;
}

Result get_limit(std::size_t* value) {
  *value = 1024;
  return kSuccess;
}

Result id_of(Context* context, unsigned long long* id) {
  if (context == nullptr) {
    context = current_context();
  }
  if (context == nullptr) {
    return kInvalidContext;
  }
  *id = context->id;
  return kSuccess;
}

}  // namespace

FAKE_CUDA_DEFINE(cuCtxCreate,
                 (Context * *context, unsigned flags, int device),
                 create(context, flags, device))
FAKE_CUDA_DEFINE(cuCtxCreate_v2,
                 (Context * *context, unsigned flags, int device),
                 create(context, flags, device))
FAKE_CUDA_DEFINE(cuCtxCreate_v3,
                 (Context * *context, ExecAffinity*, int, unsigned flags, int device),
                 create(context, flags, device))
FAKE_CUDA_DEFINE(cuCtxCreate_v4,
                 (Context * *context, ContextParams*, unsigned flags, int device),
                 create(context, flags, device))
FAKE_CUDA_DEFINE(cuCtxDestroy, (Context * context), destroy(context))
FAKE_CUDA_DEFINE(cuCtxDestroy_v2, (Context * context), destroy(context))
FAKE_CUDA_DEFINE(cuCtxPushCurrent, (Context * context), push(context))
FAKE_CUDA_DEFINE(cuCtxPushCurrent_v2, (Context * context), push(context))
FAKE_CUDA_DEFINE(cuCtxPopCurrent, (Context * *context), pop(context))
FAKE_CUDA_DEFINE(cuCtxPopCurrent_v2, (Context * *context), pop(context))
FAKE_CUDA_DEFINE(cuCtxSetCurrent, (Context * context), set_current(context))
FAKE_CUDA_DEFINE(cuCtxGetCurrent, (Context * *context), get_current(context))
FAKE_CUDA_DEFINE(cuCtxGetDevice, (int* device), device_of(device, nullptr))
FAKE_CUDA_DEFINE(cuCtxGetDevice_v2, (int* device, Context* context), device_of(device, context))
FAKE_CUDA_DEFINE(cuCtxSynchronize, (), synchronize(nullptr))
FAKE_CUDA_DEFINE(cuCtxSynchronize_v2, (Context * context), synchronize(context))
FAKE_CUDA_DEFINE(cuCtxGetStreamPriorityRange,
                 (int* least, int* greatest),
                 priority_range(least, greatest))
FAKE_CUDA_DEFINE(cuCtxGetApiVersion, (Context*, unsigned* version), api_version(version))
FAKE_CUDA_DEFINE(cuCtxGetFlags, (unsigned* flags), flags_of(flags))
FAKE_CUDA_DEFINE(cuCtxSetLimit, (int, std::size_t), kSuccess)
FAKE_CUDA_DEFINE(cuCtxGetLimit, (std::size_t* value, int), get_limit(value))
FAKE_CUDA_DEFINE(cuCtxGetId, (Context * context, unsigned long long* id), id_of(context, id))

}  // namespace fake_cuda
