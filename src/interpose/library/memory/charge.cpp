#include "interpose/library/memory/charge.hpp"

#include "interpose/library/captures.hpp"
#include "interpose/library/memory/pools.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

std::uint64_t current_context() {
  return capture_alive() ? 0 : reinterpret_cast<std::uintptr_t>(thread_context());
}

bool admit(Device& device, std::uint64_t bytes) {
  const auto charged = [&] { return device.guard.charge(bytes) == Verdict::Admitted; };
  if (charged()) {
    return true;
  }
  if (!pools_hold_memory(device)) {
    return false;
  }
  trim_pools(device);
  if (charged()) {
    return true;
  }
  // What was freed in the order of a stream is free when the work before it is done.
  if (capture_alive() || call_real<Status()>(Symbol::cuCtxSynchronize) != kSuccess) {
    return false;
  }
  trim_pools(device);
  return charged();
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
