// Host memory that processes share and the GPU reads and writes.
#pragma once

#include <atomic>
#include <sys/mman.h>

#include "cuda.hpp"

namespace probes {

// A child that is forked before CUDA is in use shares it.
struct SharedPage {
  std::atomic<std::uint64_t>* words = nullptr;

  SharedPage() {
    void* const memory =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    words = static_cast<std::atomic<std::uint64_t>*>(memory);
  }
  [[nodiscard]] CUdeviceptr register_with_gpu() const {
    CUdeviceptr address = 0;
    NEED(cuMemHostRegister(words, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
    NEED(cuMemHostGetDevicePointer(&address, words, 0));
    return address;
  }
};

}  // namespace probes
