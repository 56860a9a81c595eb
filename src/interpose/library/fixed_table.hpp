// A table of fixed size from handles to numbers, for the path of launches: no locks, no memory from
// the heap. What does not fit is not kept; a look-up then finds nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace carpool::interpose {

inline constexpr std::uint64_t kFreeKey = 0;
inline constexpr std::uint64_t kErasedKey = 1;   // no handle has this value,
inline constexpr std::uint64_t kFillingKey = 2;  // nor this one: a thread writes the value
inline constexpr std::size_t kTableSteps = 16;

template <std::size_t Entries>
class FixedTable {
  static_assert((Entries & (Entries - 1)) == 0);

 public:
  constexpr FixedTable() = default;

  // 0 if the key is not there.
  [[nodiscard]] std::uint64_t find(std::uint64_t key) const {
    for (std::size_t step = 0; step < kTableSteps; ++step) {
      const Entry& entry = entries_[place_of(key, step)];
      const std::uint64_t there = entry.key.load(std::memory_order_acquire);
      if (there == key) {
        return entry.value.load(std::memory_order_relaxed);
      }
      if (there == kFreeKey) {
        break;
      }
    }
    return 0;
  }

  // Replaces a value, which must not be 0; false if it does not fit.
  bool set(std::uint64_t key, std::uint64_t value) {
    erase(key);
    for (std::size_t step = 0; step < kTableSteps; ++step) {
      Entry& entry = entries_[place_of(key, step)];
      std::uint64_t there = entry.key.load(std::memory_order_relaxed);
      if ((there == kFreeKey || there == kErasedKey) &&
          entry.key.compare_exchange_strong(there, kFillingKey, std::memory_order_acquire)) {
        entry.value.store(value, std::memory_order_relaxed);
        entry.key.store(key, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  void erase(std::uint64_t key) {
    for (std::size_t step = 0; step < kTableSteps; ++step) {
      Entry& entry = entries_[place_of(key, step)];
      std::uint64_t there = key;
      entry.key.compare_exchange_strong(there, kErasedKey, std::memory_order_relaxed);
      if (there == kFreeKey) {
        return;
      }
    }
  }

  void clear() {
    for (Entry& entry : entries_) {
      entry.key.store(kFreeKey, std::memory_order_relaxed);
    }
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> key;
    std::atomic<std::uint64_t> value;
  };

  static std::size_t place_of(std::uint64_t key, std::size_t step) {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
    return ((key * kSpread >> 32U) + step) & (Entries - 1);
  }

  std::array<Entry, Entries> entries_{};
};

}  // namespace carpool::interpose
