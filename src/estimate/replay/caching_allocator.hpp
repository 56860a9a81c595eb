// A replay of PyTorch's caching allocator (CUDACachingAllocator, default settings): the GPU memory
// that it reserves for a sequence of allocations. Only the book-keeping is real.
//
// Rules: a request is rounded up to 512 B. Up to 1 MiB it comes from the small pool, else from the
// large one. The smallest free block that fits is taken, the lowest address among equals. Without
// one, a segment is reserved: 2 MiB (small), 20 MiB (below 10 MiB), else the size rounded up to
// 2 MiB. A block is split if at least 512 B (small) or more than 1 MiB (large) remain. Free
// neighbours are merged. Segments stay reserved until all free ones are given back.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "estimate/replay/free_blocks.hpp"

namespace carpool::estimate {

inline constexpr std::size_t kMemoryUses = 5;

using UseBytes = std::array<std::int64_t, kMemoryUses>;

class CachingAllocator {
 public:
  using Block = MemoryBlock*;
  static constexpr Block kNone = nullptr;
  // No GPU has more; larger totals are not replayed.
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

  // kNone for no bytes, and after the total has exceeded kMostBytes.
  [[nodiscard]] Block allocate(std::int64_t bytes, MemoryPurpose use);
  void release(Block block);
  // allocate() and release() at once.
  void touch(std::int64_t bytes, MemoryPurpose use);
  // Segments without a block in use stop being reserved (torch.cuda.empty_cache).
  void give_back();

  [[nodiscard]] std::int64_t reserved() const { return to_bytes(reserved_); }
  [[nodiscard]] std::int64_t peak_reserved() const { return to_bytes(peak_reserved_); }
  [[nodiscard]] std::int64_t allocated() const { return to_bytes(allocated_); }
  [[nodiscard]] std::int64_t peak_allocated() const {
    return to_bytes(std::max(allocated_, peak_allocated_));
  }
  // Bytes by purpose at the peak of allocations; the sum is peak_allocated().
  [[nodiscard]] UseBytes uses_at_peak() const;
  // More was requested than any GPU has: the figures are not valid.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  using Units = MemoryUnits;
  using UseUnits = std::array<std::uint64_t, kMemoryUses>;

  static std::int64_t to_bytes(std::uint64_t units) {
    return static_cast<std::int64_t>(units) * 512;
  }
  [[nodiscard]] FreeBlocks& pool(bool small) { return pools_[small ? 0 : 1]; }
  [[nodiscard]] Units units_of(std::int64_t bytes);
  [[nodiscard]] MemoryBlock& find(Units size);
  [[nodiscard]] MemoryBlock& new_segment(Units size);
  void cut(MemoryBlock& block, Units size);
  void count(Units size, MemoryPurpose use);
  void discount(Units size, MemoryPurpose use);
  [[nodiscard]] MemoryBlock& new_block();
  void forget(MemoryBlock& block);
  void set_reserved(std::uint64_t units);

  std::array<FreeBlocks, 2> pools_;  // small, large
  // All blocks. A chunk keeps its size, so that blocks stay where they are.
  std::vector<std::vector<MemoryBlock>> chunks_;
  MemoryBlock* unused_ = nullptr;    // blocks for reuse, linked by `next`
  MemoryBlock border_;               // before the first and behind the last of a segment
  std::uint64_t room_ = kMostBytes;  // largest request, bytes
  std::uint64_t reserved_ = 0;
  std::uint64_t peak_reserved_ = 0;
  std::uint64_t next_address_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t peak_allocated_ = 0;  // before the last release
  UseUnits by_use_{};
  UseUnits by_use_at_peak_{};
  bool overflowed_ = false;
};

}  // namespace carpool::estimate
