// What the process has allocated: the charge of each pointer and handle, so that freeing it gives
// back exactly what was taken. Memory that another process has charged is not in here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interpose/library/spin_lock.hpp"

namespace carpool::interpose {

enum class AllocationKind : std::uint8_t {
  None,
  Erased,
  Pointer,
  PoolPointer,  // part of what the pool has reserved, which is charged
  Memory,
  Mapping,
  Array,
  Graph,
};

struct Allocation {
  AllocationKind kind = AllocationKind::None;
  std::int16_t device = 0;
  std::uint32_t references = 1;
  std::uint64_t key = 0;    // pointer or handle
  std::uint64_t bytes = 0;  // charged; of a mapping: its length
  std::uint64_t owner = 0;  // context; of a mapping: the handle that is mapped; the pool
};

// From any thread. Grows by memory of its own, without the program's heap.
class AllocationTable {
 public:
  constexpr AllocationTable() = default;

  // False if there is no memory for it.
  [[nodiscard]] bool add(const Allocation& added);

  // Removes and returns it; kind None if it is not there.
  [[nodiscard]] Allocation take(AllocationKind kind, std::uint64_t key);

  // One reference more; nothing if it is not there.
  void retain(AllocationKind kind, std::uint64_t key);
  // One reference less. Returns it when the last has gone, else kind None.
  [[nodiscard]] Allocation drop(AllocationKind kind, std::uint64_t key);

  // Removes and returns one pointer or array of the context, or, with context 0, of the device.
  [[nodiscard]] Allocation take_of(std::uint64_t context, std::int16_t device);

 private:
  [[nodiscard]] Allocation* find(AllocationKind kind, std::uint64_t key);
  [[nodiscard]] bool grow();
  void place(const Allocation& added);

  SpinLock lock_;
  Allocation* entries_ = nullptr;
  std::size_t capacity_ = 0;  // a power of two
  std::size_t filled_ = 0;    // erased ones included
};

extern constinit AllocationTable allocations;  // NOLINT: shared by all threads

}  // namespace carpool::interpose
