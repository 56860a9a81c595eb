#include "interpose/library/memory/allocations.hpp"

#include <sys/mman.h>

namespace carpool::interpose {

constinit AllocationTable allocations;  // NOLINT

namespace {

constexpr std::size_t kFirstCapacity = 4096;

std::size_t start_of(AllocationKind kind, std::uint64_t key) {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
  return static_cast<std::size_t>((key + static_cast<std::uint64_t>(kind)) * kSpread >> 20U);
}

}  // namespace

Allocation* AllocationTable::find(AllocationKind kind, std::uint64_t key) {
  if (capacity_ == 0) {
    return nullptr;
  }
  for (std::size_t i = start_of(kind, key);; ++i) {
    Allocation& entry = entries_[i & (capacity_ - 1)];
    if (entry.kind == AllocationKind::None) {
      return nullptr;
    }
    if (entry.kind == kind && entry.key == key) {
      return &entry;
    }
  }
}

void AllocationTable::place(const Allocation& added) {
  for (std::size_t i = start_of(added.kind, added.key);; ++i) {
    Allocation& entry = entries_[i & (capacity_ - 1)];
    if (entry.kind == AllocationKind::None) {
      entry = added;
      ++filled_;
      return;
    }
  }
}

bool AllocationTable::grow() {
  std::size_t living = 0;
  for (std::size_t i = 0; i < capacity_; ++i) {
    living += entries_[i].kind > AllocationKind::Erased ? 1 : 0;
  }
  std::size_t capacity = kFirstCapacity;
  while (capacity < 4 * living) {
    capacity *= 2;
  }
  void* const memory = ::mmap(nullptr,
                              capacity * sizeof(Allocation),
                              PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS,
                              -1,
                              0);
  if (memory == MAP_FAILED) {
    return false;
  }
  Allocation* const old = entries_;
  const std::size_t old_capacity = capacity_;
  entries_ = static_cast<Allocation*>(memory);  // zeros: kind None
  capacity_ = capacity;
  filled_ = 0;
  for (std::size_t i = 0; i < old_capacity; ++i) {
    if (old[i].kind > AllocationKind::Erased) {
      place(old[i]);
    }
  }
  if (old != nullptr) {
    ::munmap(old, old_capacity * sizeof(Allocation));
  }
  return true;
}

bool AllocationTable::add(const Allocation& added) {
  const SpinLock::Holder held(lock_);
  if (2 * (filled_ + 1) > capacity_ && !grow()) {
    return false;
  }
  place(added);
  return true;
}

Allocation AllocationTable::take(AllocationKind kind, std::uint64_t key) {
  const SpinLock::Holder held(lock_);
  Allocation* const entry = find(kind, key);
  if (entry == nullptr) {
    return {};
  }
  const Allocation taken = *entry;
  entry->kind = AllocationKind::Erased;
  return taken;
}

void AllocationTable::retain(AllocationKind kind, std::uint64_t key) {
  const SpinLock::Holder held(lock_);
  if (Allocation* const entry = find(kind, key)) {
    ++entry->references;
  }
}

Allocation AllocationTable::drop(AllocationKind kind, std::uint64_t key) {
  const SpinLock::Holder held(lock_);
  Allocation* const entry = find(kind, key);
  if (entry == nullptr || --entry->references != 0) {
    return {};
  }
  const Allocation taken = *entry;
  entry->kind = AllocationKind::Erased;
  return taken;
}

Allocation AllocationTable::take_of(std::uint64_t context, std::int16_t device) {
  const SpinLock::Holder held(lock_);
  for (std::size_t i = 0; i < capacity_; ++i) {
    Allocation& entry = entries_[i];
    const bool of_context =
        entry.kind == AllocationKind::Pointer || entry.kind == AllocationKind::Array;
    if (of_context && (context != 0 ? entry.owner == context : entry.device == device)) {
      const Allocation taken = entry;
      entry.kind = AllocationKind::Erased;
      return taken;
    }
  }
  return {};
}

}  // namespace carpool::interpose
