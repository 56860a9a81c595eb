#include "interpose/library/requests/copy_direction.hpp"

#include "interpose/library/real_driver.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {
namespace {

// Memory that the driver does not know is the host's.
unsigned memory_type(DevicePointer address) {
  constexpr int kMemoryType = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  unsigned type = 0;
  using GetAttribute = Status(void*, int, DevicePointer);
  return call_real<GetAttribute>(Symbol::cuPointerGetAttribute, &type, kMemoryType, address) ==
                 kSuccess
             ? type
             : kHostMemory;
}

}  // namespace

CopyDirection direction_by_address(DevicePointer source, DevicePointer target) {
  return direction_between(memory_type(source), memory_type(target));
}

}  // namespace carpool::interpose
