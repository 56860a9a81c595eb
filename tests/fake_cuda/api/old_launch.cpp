// Launches of earlier days: the shape of a block belongs to the function, and one call may launch
// on several devices.
#include "../driver/code.hpp"
#include "../driver/define.hpp"
#include "../driver/kernel_task.hpp"
#include "../driver/submit.hpp"

namespace fake_cuda {
namespace {

Result set_shape(Function* handle, int x, int y, int z) {
  Function* function = Code::get().resolve(handle);
  if (function == nullptr) {
    return kInvalidHandle;
  }
  if (x <= 0 || y <= 0 || z <= 0) {
    return kInvalidValue;
  }
  function->block = {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
  return kSuccess;
}

Result launch_grid(Function* handle, int width, int height, Stream* stream) {
  const Function* function = Code::get().resolve(handle);
  if (function == nullptr) {
    return kInvalidHandle;
  }
  if (width <= 0 || height <= 0) {
    return kInvalidValue;
  }
  KernelNodeParams call{};
  call.function = handle;
  call.grid_x = static_cast<unsigned>(width);
  call.grid_y = static_cast<unsigned>(height);
  call.grid_z = 1;
  call.block_x = function->block[0];
  call.block_y = function->block[1];
  call.block_z = function->block[2];
  KernelTask task;
  const Result result = make_kernel_task(task, call);
  return result != kSuccess ? result : submit(stream, Default::Legacy, task);
}

Result launch_on_devices(const MultiLaunch* launches, unsigned count) {
  if (launches == nullptr || count == 0) {
    return kInvalidValue;
  }
  for (unsigned number = 0; number < count; ++number) {
    const MultiLaunch& each = launches[number];
    KernelTask task;
    Result result = make_kernel_task(task,
                                     {each.function,
                                      each.grid_x,
                                      each.grid_y,
                                      each.grid_z,
                                      each.block_x,
                                      each.block_y,
                                      each.block_z,
                                      each.shared_bytes,
                                      each.parameters,
                                      nullptr,
                                      nullptr,
                                      nullptr});
    task.cooperative = true;
    if (result == kSuccess) {
      // Default streams are refused.
      result = each.stream == nullptr ? kInvalidHandle : submit(each.stream, Default::Legacy, task);
    }
    if (result != kSuccess) {
      return result;
    }
  }
  return kSuccess;
}

}  // namespace

FAKE_CUDA_DEFINE(cuFuncSetBlockShape,
                 (Function * function, int x, int y, int z),
                 set_shape(function, x, y, z))
FAKE_CUDA_DEFINE(cuLaunch, (Function * function), launch_grid(function, 1, 1, nullptr))
FAKE_CUDA_DEFINE(cuLaunchGrid,
                 (Function * function, int width, int height),
                 launch_grid(function, width, height, nullptr))
FAKE_CUDA_DEFINE(cuLaunchGridAsync,
                 (Function * function, int width, int height, Stream* stream),
                 launch_grid(function, width, height, stream))
FAKE_CUDA_DEFINE(cuLaunchCooperativeKernelMultiDevice,
                 (MultiLaunch * launches, unsigned count, unsigned),
                 launch_on_devices(launches, count))

}  // namespace fake_cuda
