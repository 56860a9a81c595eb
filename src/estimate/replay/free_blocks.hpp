// The free blocks of one pool of the caching allocator, found by size. Internal to estimate/.
//
// Blocks are kept in bins of similar size, eight bins to an octave. Each bin is a ring that begins
// and ends in the bin's head, sorted by size and then address. Most bins hold one block or none, so
// that a block is put, taken and found without a search and without unpredictable branches: an
// estimate spends most of its time here.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace carpool::estimate {

// What a block is used for, in the order of MemoryBreakdown.
enum class MemoryPurpose : std::uint8_t { Weights, Gradients, Optimizer, Activations, Workspace };

// Sizes and addresses are in units of 512 B.
using MemoryUnits = std::uint32_t;

// A place in the ring of a bin.
struct RingEntry {
  std::uint64_t key = 0;  // size, then address
  RingEntry* smaller = nullptr;
  RingEntry* larger = nullptr;
};

struct MemoryBlock : RingEntry {
  MemoryBlock* previous = nullptr;  // neighbours in the segment, never null
  MemoryBlock* next = nullptr;
  std::uint16_t bin = 0;
  MemoryPurpose use = MemoryPurpose::Weights;
  bool free = false;
  bool small = false;  // its pool

  [[nodiscard]] MemoryUnits size() const { return static_cast<MemoryUnits>(key >> 32U); }
  [[nodiscard]] MemoryUnits address() const { return static_cast<MemoryUnits>(key); }
  void set_place(MemoryUnits address, MemoryUnits size) {
    key = (std::uint64_t{size} << 32U) | address;
  }
};

class FreeBlocks {
 public:
  FreeBlocks() {
    for (RingEntry& head : heads_) {
      head.smaller = &head;
      head.larger = &head;
    }
  }
  FreeBlocks(const FreeBlocks&) = delete;  // the rings point into it
  FreeBlocks& operator=(const FreeBlocks&) = delete;
  FreeBlocks(FreeBlocks&&) = delete;
  FreeBlocks& operator=(FreeBlocks&&) = delete;
  ~FreeBlocks() = default;

  void put(MemoryBlock& block) {
    const std::size_t bin = bin_of(block.size());
    block.bin = static_cast<std::uint16_t>(bin);
    block.free = true;
    filled_[bin / 64] |= std::uint64_t{1} << (bin % 64);
    RingEntry& head = heads_[bin];
    head.key = block.key;  // ends the search
    // Blocks are often released in the order of their addresses or in reverse: both ends are fast.
    RingEntry* after = head.smaller->key <= block.key ? &head : head.larger;
    while (after->key < block.key) {
      after = after->larger;
    }
    block.smaller = after->smaller;
    block.larger = after;
    after->smaller->larger = &block;
    after->smaller = &block;
  }

  void take(MemoryBlock& block) {
    block.free = false;
    block.smaller->larger = block.larger;
    block.larger->smaller = block.smaller;
    const auto emptied = static_cast<std::uint64_t>(block.smaller == block.larger);
    filled_[block.bin / 64] &= ~(emptied << (block.bin % 64U));
  }

  // Takes all blocks for which `wanted` is true and passes each to `taken`.
  template <class Wanted, class Taken>
  void take_all(const Wanted& wanted, const Taken& taken) {
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      RingEntry& head = heads_[bin];
      for (RingEntry* entry = head.larger; entry != &head;) {
        auto& block = static_cast<MemoryBlock&>(*entry);
        entry = entry->larger;
        if (wanted(block)) {
          take(block);
          taken(block);
        }
      }
    }
  }

  // The smallest block of at least this size, the lowest address among equals; null: none.
  [[nodiscard]] MemoryBlock* best_fit(MemoryUnits size) {
    const std::size_t own = bin_of(size);
    const std::uint64_t least = std::uint64_t{size} << 32U;
    std::size_t word = own / 64;
    std::uint64_t bits = filled_[word] & (~std::uint64_t{0} << (own % 64));
    while (true) {
      while (bits == 0) {
        if (++word == filled_.size()) {
          return nullptr;
        }
        bits = filled_[word];
      }
      RingEntry& head = heads_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      head.key = std::numeric_limits<std::uint64_t>::max();
      RingEntry* entry = head.larger;
      while (entry->key < least) {
        entry = entry->larger;
      }
      if (entry != &head) {
        return static_cast<MemoryBlock*>(entry);
      }
      bits &= bits - 1;  // all blocks of the bin are too small: only possible in the size's own bin
    }
  }

 private:
  static constexpr unsigned kStepBits = 3;  // of an octave
  static constexpr std::size_t kBins = 256;

  // Every block of a lower bin is smaller than every block of a higher one.
  [[nodiscard]] static std::size_t bin_of(MemoryUnits size) {
    constexpr MemoryUnits kLeast = 1U << kStepBits;  // below it, each size has its own bin
    const auto shift = static_cast<unsigned>(std::bit_width(size | kLeast)) - 1 - kStepBits;
    return (std::size_t{shift} << kStepBits) + (size >> shift);
  }

  std::array<RingEntry, kBins> heads_{};
  std::array<std::uint64_t, kBins / 64> filled_{};  // bit i: bin i has entries
};

}  // namespace carpool::estimate
