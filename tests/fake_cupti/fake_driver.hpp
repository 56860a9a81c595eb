// A fake driver and fake NVTX for a CUDA program.
#pragma once

#include <cstddef>

#include "gpu/cupti/abi.hpp"

namespace carpool::fake_cupti {

// Like cuInit: loads the library that CUDA_INJECTION64_PATH names and calls it. False if none is
// named.
bool fake_cu_init();

// Passes work to the fake CUPTI if the injected library has loaded it.
void launch(const gpu::cupti::KernelRecord& record);
// A whole graph, and then the kernels that it runs.
void launch_graph();
void graph_kernel(const gpu::cupti::KernelRecord& record);
void copy(const gpu::cupti::MemcpyRecord& record);
void set_memory(const gpu::cupti::MemsetRecord& record);

// Subscribes to the CUPTI that is loaded, for good. False: it refused, or there is none.
bool subscribe();
// As torch.profiler does: subscribes, and asks for the records of kernels, for good.
bool profile();
// Kernels of which it got records.
[[nodiscard]] std::size_t profiled_kernels();

// NVTX ranges, through the tool of NVTX_INJECTION64_PATH if there is one.
void push_range(const char* name);
void pop_range();

}  // namespace carpool::fake_cupti
