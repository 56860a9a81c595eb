// Memory pools: charged is what a pool has reserved from the GPU, which outlives the allocations in
// it.
#pragma once

#include <cstdint>

#include "interpose/library/memory/charge.hpp"

namespace carpool::interpose {

// Asks the driver what the pools of the GPU have reserved now, and corrects their charge. Nothing
// while a capture is alive.
void settle_pools(Device& device);

// Whether the pools of the GPU have reserved memory, used or not.
[[nodiscard]] bool pools_hold_memory(const Device& device);

// Gives back what the pools of the GPU hold and do not use, where no capture is alive.
void trim_pools(Device& device);

// The driver has freed memory of a pool.
void freed_to_pool(const Allocation& freed);

// Frees by `ask_driver` a pointer of its own or one of a pool.
template <class AskDriver>
Status free_pointer(std::uint64_t pointer, const AskDriver& ask_driver) {
  const Allocation pooled = allocations.take(AllocationKind::PoolPointer, pointer);
  if (pooled.kind == AllocationKind::None) {
    return free_allocation(AllocationKind::Pointer, pointer, ask_driver);
  }
  const Status status = ask_driver();
  if (status == kSuccess) {
    freed_to_pool(pooled);
  } else {
    static_cast<void>(allocations.add(pooled));
  }
  return status;
}

}  // namespace carpool::interpose
