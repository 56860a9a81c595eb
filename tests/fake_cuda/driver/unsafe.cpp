#include "unsafe.hpp"

#include "memory.hpp"

namespace fake_cuda {

Result forbid_in_capture(Driver& /*driver*/) {
  return kSuccess;
}

void free_async(Driver& driver, DevicePtr address) {
  Heap::get().free(driver, address);
}

}  // namespace fake_cuda
