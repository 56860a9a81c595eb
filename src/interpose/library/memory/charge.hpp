// Allocation under a quota: the guard is asked before the driver, and what was taken is remembered
// by pointer or handle.
#pragma once

#include <cstdint>

#include "interpose/library/devices.hpp"
#include "interpose/library/memory/allocations.hpp"

namespace carpool::interpose {

// The context that an allocation belongs to; 0 while a capture forbids to ask.
[[nodiscard]] std::uint64_t current_context();

// Remembers what was charged to the device. What cannot be remembered is given back: it would
// never be released.
void remember(Device& device, const Allocation& allocation);

// Gives back the charge of an allocation that is gone.
void give_back(const Allocation& allocation);

// Charges the quota. Before it refuses, what the pools of the GPU hold and do not use goes back to
// the GPU, as the driver does when its memory runs out.
[[nodiscard]] bool admit(Device& device, std::uint64_t bytes);

// Asks the guard, then the driver by `ask_driver`. `key_of` tells pointer or handle afterwards.
template <class AskDriver, class KeyOf>
Status allocate(Device& device,
                AllocationKind kind,
                std::uint64_t bytes,
                const AskDriver& ask_driver,
                const KeyOf& key_of) {
  if (!admit(device, bytes)) {
    return kOutOfMemory;
  }
  const Status status = ask_driver();
  if (status != kSuccess) {
    device.guard.release(bytes);
    return status;
  }
  remember(device,
           {.kind = kind,
            .device = static_cast<std::int16_t>(device.ordinal),
            .key = key_of(),
            .bytes = bytes,
            .owner = current_context()});
  return status;
}

// Frees by `ask_driver`. The entry is taken first: another thread may get the same pointer as soon
// as the driver has freed it.
template <class AskDriver>
Status free_allocation(AllocationKind kind, std::uint64_t key, const AskDriver& ask_driver) {
  const Allocation taken = allocations.take(kind, key);
  const Status status = ask_driver();
  if (taken.kind == AllocationKind::None) {
    return status;
  }
  if (status == kSuccess) {
    give_back(taken);
  } else {
    remember(device_of(taken.device), taken);
  }
  return status;
}

}  // namespace carpool::interpose
