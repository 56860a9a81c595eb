// Launches of kernels and host functions.
#include "../driver/code.hpp"
#include "../driver/define.hpp"
#include "../driver/kernel_task.hpp"
#include "../driver/submit.hpp"

namespace fake_cuda {

Result make_kernel_task(KernelTask& task, const KernelNodeParams& call) {
  Function* handle =
      call.function != nullptr ? call.function : reinterpret_cast<Function*>(call.kernel);
  task.function = Code::get().resolve(handle);
  if (task.function == nullptr) {
    return kInvalidHandle;
  }
  task.grid = {call.grid_x, call.grid_y, call.grid_z};
  task.block = {call.block_x, call.block_y, call.block_z};
  task.shared_bytes = call.shared_bytes;
  const std::uint64_t threads =
      static_cast<std::uint64_t>(call.block_x) * call.block_y * call.block_z;
  if (task.blocks() == 0 || threads == 0 || threads > 1024) {
    return kInvalidValue;
  }
  task.function->loaded = true;
  // Of a node of a graph; a stream has a context of its own.
  const Context* context = call.context != nullptr ? call.context : current_context();
  task.green = context == nullptr ? nullptr : context->green.get();
  // The fake knows what this kernel does, so it knows its one parameter.
  if (task.function->name.starts_with("increment") && call.parameters != nullptr) {
    task.parameter = *static_cast<const std::uint64_t*>(call.parameters[0]);
  }
  return kSuccess;
}

namespace {

Result launch(const KernelNodeParams& call, Stream* stream, Default meaning, bool cooperative) {
  KernelTask task;
  if (const Result result = make_kernel_task(task, call); result != kSuccess) {
    return result;
  }
  task.cooperative = cooperative;
  return submit(stream, meaning, task);
}

Result launch_ex(const LaunchConfig* config,
                 Function* function,
                 void** parameters,
                 void** extra,
                 Default meaning) {
  if (config == nullptr) {
    return kInvalidValue;
  }
  KernelTask task;
  const Result result = make_kernel_task(task,
                                         {function,
                                          config->grid_x,
                                          config->grid_y,
                                          config->grid_z,
                                          config->block_x,
                                          config->block_y,
                                          config->block_z,
                                          config->shared_bytes,
                                          parameters,
                                          extra,
                                          nullptr,
                                          nullptr});
  if (result != kSuccess) {
    return result;
  }
  for (unsigned number = 0; number < config->attribute_count; ++number) {
    const LaunchAttribute& attribute = config->attributes[number];
    if (attribute.id == kAttributePriority) {
      task.priority = attribute.value.number;
    } else if (attribute.id == kAttributeCooperative) {
      task.cooperative = attribute.value.number != 0;
    }
  }
  return submit(config->stream, meaning, task);
}

Result launch_host(Stream* stream, HostFunction function, void* data, Default meaning) {
  return function == nullptr ? kInvalidValue : submit(stream, meaning, HostTask{function, data});
}

}  // namespace

FAKE_CUDA_DEFINE_TWINS(cuLaunchKernel,
                       _ptsz,
                       (Function * function,
                        unsigned grid_x,
                        unsigned grid_y,
                        unsigned grid_z,
                        unsigned block_x,
                        unsigned block_y,
                        unsigned block_z,
                        unsigned shared,
                        Stream* stream,
                        void** parameters,
                        void** extra),
                       launch({function,
                               grid_x,
                               grid_y,
                               grid_z,
                               block_x,
                               block_y,
                               block_z,
                               shared,
                               parameters,
                               extra,
                               nullptr,
                               nullptr},
                              stream,
                              kDefault,
                              false))
FAKE_CUDA_DEFINE_TWINS(cuLaunchCooperativeKernel,
                       _ptsz,
                       (Function * function,
                        unsigned grid_x,
                        unsigned grid_y,
                        unsigned grid_z,
                        unsigned block_x,
                        unsigned block_y,
                        unsigned block_z,
                        unsigned shared,
                        Stream* stream,
                        void** parameters),
                       launch({function,
                               grid_x,
                               grid_y,
                               grid_z,
                               block_x,
                               block_y,
                               block_z,
                               shared,
                               parameters,
                               nullptr,
                               nullptr,
                               nullptr},
                              stream,
                              kDefault,
                              true))
FAKE_CUDA_DEFINE_TWINS(
    cuLaunchKernelEx,
    _ptsz,
    (const LaunchConfig* config, Function* function, void** parameters, void** extra),
    launch_ex(config, function, parameters, extra, kDefault))
FAKE_CUDA_DEFINE_TWINS(cuLaunchHostFunc,
                       _ptsz,
                       (Stream * stream, HostFunction function, void* data),
                       launch_host(stream, function, data, kDefault))

}  // namespace fake_cuda
