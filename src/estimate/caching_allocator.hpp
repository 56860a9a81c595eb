// A replay of PyTorch's caching allocator (CUDACachingAllocator, default settings): what it would
// hold of the GPU for a sequence of allocations. Nothing is allocated but the book-keeping.
//
// Rules: a request is rounded up to 512 B. Up to 1 MiB it comes from the small pool, else from the
// large one. Taken is the smallest free block that fits, the lowest address among equals. Without
// one, a segment is reserved: 2 MiB (small), 20 MiB (below 10 MiB), else the size rounded up to
// 2 MiB. A block is split if at least 512 B (small) or more than 1 MiB (large) remain. Free
// neighbours are merged. Segments are never given back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace carpool {

// What a block is for; the order of MemoryBreakdown.
enum class MemoryPurpose : std::uint8_t { Weights, Gradients, Optimizer, Activations, Workspace };
inline constexpr std::size_t kMemoryUses = 5;

using UseBytes = std::array<std::int64_t, kMemoryUses>;

class CachingAllocator {
 public:
  using Block = std::uint32_t;
  static constexpr Block kNone = 0xFFFFFFFF;
  // No GPU has more; what goes beyond is not replayed.
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

  CachingAllocator();

  // kNone for no bytes, and once the total has left kMostBytes.
  [[nodiscard]] Block allocate(std::int64_t bytes, MemoryPurpose use);
  void release(Block block);
  // allocate() and release() at once.
  void touch(std::int64_t bytes, MemoryPurpose use);

  [[nodiscard]] std::int64_t reserved() const { return to_bytes(reserved_); }
  [[nodiscard]] std::int64_t allocated() const { return to_bytes(allocated_); }
  [[nodiscard]] std::int64_t peak_allocated() const { return to_bytes(peak_allocated_); }
  // What the blocks were for when the most was allocated; adds up to peak_allocated().
  [[nodiscard]] UseBytes uses_at_peak() const;
  // More was asked for than any GPU has: none of the figures counts.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

  // Forgets everything but the memory of its own tables.
  void reset();

 private:
  // Sizes and addresses count units of 512 B.
  using Units = std::uint32_t;
  struct BlockState {
    Units address = 0;
    Units size = 0;
    Block previous = kNone;  // neighbours in the segment
    Block next = kNone;
    Block smaller = kNone;  // neighbours in the bin, while free
    Block larger = kNone;
    MemoryPurpose use = MemoryPurpose::Weights;
    bool free = false;
    bool small = false;
  };
  // Free blocks of about one size: a list sorted by size and then address.
  struct Bin {
    Block smallest = kNone;
    Block largest = kNone;
  };
  static constexpr std::size_t kBins = 256;
  struct Pool {
    std::array<Bin, kBins> bins{};
    std::array<std::uint64_t, kBins / 64> filled{};  // bit i: bin i has entries
  };

  static std::int64_t to_bytes(std::uint64_t units) {
    return static_cast<std::int64_t>(units) * 512;
  }
  [[nodiscard]] static std::size_t bin_of(Units size);
  [[nodiscard]] static std::uint64_t key_of(const BlockState& state) {
    return (std::uint64_t{state.size} << 32U) | state.address;
  }
  [[nodiscard]] static std::size_t first_filled(const Pool& pool, std::size_t from);
  [[nodiscard]] Block best_fit(const Pool& pool, Units size) const;
  void count(const BlockState& state, MemoryPurpose use);
  [[nodiscard]] Units units_of(std::int64_t bytes);
  [[nodiscard]] Block new_segment(Units size, bool small);
  [[nodiscard]] static bool splits(Units rest, bool small);
  [[nodiscard]] Block cut_front(Block block, Units size);
  void reshape_free(Block block, Units address, Units size);
  void link(Block before, Block after);
  void insert_free(Block block);
  void remove_free(Block block);
  [[nodiscard]] Block new_state();
  Pool& pool_of(const BlockState& state) { return pools_[state.small ? 0 : 1]; }

  std::array<Pool, 2> pools_{};  // small, large
  std::vector<BlockState> blocks_;
  std::vector<Block> unused_;  // entries of blocks_ to be taken again
  std::uint64_t reserved_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t peak_allocated_ = 0;
  std::array<std::uint64_t, kMemoryUses> by_use_{};
  std::array<std::uint64_t, kMemoryUses> by_use_at_peak_{};
  bool overflowed_ = false;
};

}  // namespace carpool
