// What a CUDA program has of the driver and of NVTX, without either.
#pragma once

#include "gpu/cupti/abi.hpp"

namespace carpool::fake_cupti {

// As cuInit: loads the library that CUDA_INJECTION64_PATH names and calls it. False: none is named.
bool fake_cu_init();

// Work for the fake CUPTI, where the injected library has loaded it; else nothing.
void launch(const gpu::cupti::KernelRecord& record);
void copy(const gpu::cupti::MemcpyRecord& record);
void set_memory(const gpu::cupti::MemsetRecord& record);

// NVTX ranges, by whatever NVTX_INJECTION64_PATH has put in; nothing without it.
void push_range(const char* name);
void pop_range();

}  // namespace carpool::fake_cupti
