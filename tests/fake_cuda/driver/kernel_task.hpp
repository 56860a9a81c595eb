// From the arguments of a launch to a task.
#pragma once

#include "task.hpp"

namespace fake_cuda {

// Fails if the handle is no kernel, or the grid is none.
Result make_kernel_task(KernelTask& task, const KernelNodeParams& call);

}  // namespace fake_cuda
