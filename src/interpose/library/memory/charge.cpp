#include "interpose/library/memory/charge.hpp"

#include "interpose/library/captures.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

std::uint64_t current_context() {
  Handle context = nullptr;
  if (capture_alive() ||
      call_real<Status(Handle*)>(Symbol::cuCtxGetCurrent, &context) != kSuccess) {
    return 0;
  }
  return reinterpret_cast<std::uintptr_t>(context);
}

void remember(Device& device, const Allocation& allocation) {
  if (!allocations.add(allocation)) {
    device.guard.release(allocation.bytes);
  }
}

void give_back(const Allocation& allocation) {
  if (allocation.kind != AllocationKind::None) {
    device_of(allocation.device).guard.release(allocation.bytes);
  }
}

}  // namespace carpool::interpose
