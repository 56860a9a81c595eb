#include "estimate/caching_allocator.hpp"

#include <bit>

namespace carpool {
namespace {

constexpr std::uint32_t kUnit = 512;                 // bytes
constexpr std::uint32_t kMiB = (1U << 20U) / kUnit;  // units of a MiB
constexpr std::uint32_t kSmallLimit = kMiB;          // largest request of the small pool
constexpr std::uint32_t kSmallSegment = 2 * kMiB;
constexpr std::uint32_t kSharedSegment = 20 * kMiB;  // for large requests below kOwnSegment
constexpr std::uint32_t kOwnSegment = 10 * kMiB;     // from here on a segment of its own
constexpr std::uint32_t kSegmentRounding = 2 * kMiB;
constexpr std::size_t kStepsOfOctave = 8;

}  // namespace

CachingAllocator::CachingAllocator() {
  constexpr std::size_t kUsual = 2048;
  blocks_.reserve(kUsual);
}

void CachingAllocator::reset() {
  for (Pool& pool : pools_) {
    pool = {};
  }
  blocks_.clear();
  unused_.clear();
  reserved_ = 0;
  allocated_ = 0;
  peak_allocated_ = 0;
  by_use_ = {};
  by_use_at_peak_ = {};
  overflowed_ = false;
}

// 0: nothing is to be allocated.
CachingAllocator::Units CachingAllocator::units_of(std::int64_t bytes) {
  if (bytes <= 0 || overflowed_) {
    return 0;
  }
  if (bytes > kMostBytes || to_bytes(reserved_) + bytes > kMostBytes) {
    overflowed_ = true;
    return 0;
  }
  return static_cast<Units>((bytes + kUnit - 1) / kUnit);
}

bool CachingAllocator::splits(Units rest, bool small) {
  return small ? rest > 0 : rest > kSmallLimit;
}

void CachingAllocator::count(const BlockState& state, MemoryPurpose use) {
  allocated_ += state.size;
  by_use_[static_cast<std::size_t>(use)] += state.size;
  if (allocated_ > peak_allocated_) {
    peak_allocated_ = allocated_;
    by_use_at_peak_ = by_use_;
  }
}

CachingAllocator::Block CachingAllocator::allocate(std::int64_t bytes, MemoryPurpose use) {
  const Units size = units_of(bytes);
  if (size == 0) {
    return kNone;
  }
  const bool small = size <= kSmallLimit;
  Block block = best_fit(pools_[small ? 0 : 1], size);
  if (block == kNone) {
    block = new_segment(size, small);
  }
  if (splits(blocks_[block].size - size, small)) {
    block = cut_front(block, size);
  } else {
    remove_free(block);
  }
  BlockState& state = blocks_[block];
  state.free = false;
  state.use = use;
  count(state, use);
  return block;
}

// What is allocated and released at once leaves the free blocks as they were, unless it needs a new
// segment.
void CachingAllocator::touch(std::int64_t bytes, MemoryPurpose use) {
  const Units size = units_of(bytes);
  if (size == 0) {
    return;
  }
  const bool small = size <= kSmallLimit;
  const Block block = best_fit(pools_[small ? 0 : 1], size);
  if (block == kNone) {
    release(allocate(bytes, use));
    return;
  }
  BlockState state = blocks_[block];
  if (splits(state.size - size, small)) {
    state.size = size;
  }
  count(state, use);
  allocated_ -= state.size;
  by_use_[static_cast<std::size_t>(use)] -= state.size;
}

void CachingAllocator::release(Block block) {
  if (block == kNone) {
    return;
  }
  BlockState& state = blocks_[block];
  allocated_ -= state.size;
  by_use_[static_cast<std::size_t>(state.use)] -= state.size;
  const Block next = state.next;
  const Block before = state.previous;
  const bool joins_next = next != kNone && blocks_[next].free;
  if (before != kNone && blocks_[before].free) {
    Units size = blocks_[before].size + state.size;
    Block beyond = next;
    if (joins_next) {
      remove_free(next);
      size += blocks_[next].size;
      beyond = blocks_[next].next;
      unused_.push_back(next);
    }
    link(before, beyond);
    unused_.push_back(block);
    reshape_free(before, blocks_[before].address, size);
  } else if (joins_next) {
    link(before, next);
    unused_.push_back(block);
    reshape_free(next, state.address, blocks_[next].size + state.size);
  } else {
    state.free = true;
    insert_free(block);
  }
}

// Makes two blocks neighbours in their segment; either may be none.
void CachingAllocator::link(Block before, Block after) {
  if (before != kNone) {
    blocks_[before].next = after;
  }
  if (after != kNone) {
    blocks_[after].previous = before;
  }
}

UseBytes CachingAllocator::uses_at_peak() const {
  UseBytes bytes{};
  for (std::size_t use = 0; use < kMemoryUses; ++use) {
    bytes[use] = to_bytes(by_use_at_peak_[use]);
  }
  return bytes;
}

// Bins are ordered by size: of two blocks in different bins, the one in the lower bin is smaller.
std::size_t CachingAllocator::bin_of(Units size) {
  if (size < kStepsOfOctave) {
    return size;
  }
  const auto octave = static_cast<std::size_t>(std::bit_width(size)) - 1;  // 3 to 31
  const std::size_t step = (size >> (octave - 3)) & (kStepsOfOctave - 1);
  return (octave - 2) * kStepsOfOctave + step;
}

std::size_t CachingAllocator::first_filled(const Pool& pool, std::size_t from) {
  for (std::size_t word = from / 64; word < pool.filled.size(); ++word) {
    std::uint64_t bits = pool.filled[word];
    if (word == from / 64) {
      bits &= ~std::uint64_t{0} << (from % 64);
    }
    if (bits != 0) {
      return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    }
  }
  return kBins;
}

CachingAllocator::Block CachingAllocator::best_fit(const Pool& pool, Units size) const {
  const std::size_t own = bin_of(size);
  const std::size_t bin = first_filled(pool, own);
  if (bin == kBins) {
    return kNone;
  }
  Block block = pool.bins[bin].smallest;
  if (bin > own) {
    return block;  // whatever lies in a higher bin is large enough
  }
  while (block != kNone && blocks_[block].size < size) {
    block = blocks_[block].larger;
  }
  if (block != kNone) {
    return block;
  }
  const std::size_t higher = first_filled(pool, own + 1);
  return higher == kBins ? kNone : pool.bins[higher].smallest;
}

CachingAllocator::Block CachingAllocator::new_segment(Units size, bool small) {
  Units segment = kSmallSegment;
  if (!small) {
    segment = size < kOwnSegment
                  ? kSharedSegment
                  : (size + kSegmentRounding - 1) / kSegmentRounding * kSegmentRounding;
  }
  const Block block = new_state();
  blocks_[block] = {
      .address = static_cast<Units>(reserved_), .size = segment, .free = true, .small = small};
  reserved_ += segment;
  insert_free(block);
  return block;
}

// Takes the front of a free block; the rest stays free.
CachingAllocator::Block CachingAllocator::cut_front(Block block, Units size) {
  const Block front = new_state();
  const BlockState& rest = blocks_[block];
  blocks_[front] = {.address = rest.address, .size = size, .small = rest.small};
  link(rest.previous, front);
  link(front, block);
  reshape_free(block, rest.address + size, rest.size - size);
  return front;
}

// Most changes leave a block where it is in its bin.
void CachingAllocator::reshape_free(Block block, Units address, Units size) {
  BlockState& state = blocks_[block];
  const std::uint64_t key = (std::uint64_t{size} << 32U) | address;
  const bool stays = bin_of(state.size) == bin_of(size) &&
                     (state.smaller == kNone || key_of(blocks_[state.smaller]) < key) &&
                     (state.larger == kNone || key < key_of(blocks_[state.larger]));
  if (!stays) {
    remove_free(block);
  }
  state.address = address;
  state.size = size;
  if (!stays) {
    insert_free(block);
  }
}

void CachingAllocator::insert_free(Block block) {
  BlockState& state = blocks_[block];
  const std::size_t index = bin_of(state.size);
  Pool& pool = pool_of(state);
  Bin& bin = pool.bins[index];
  pool.filled[index / 64] |= std::uint64_t{1} << (index % 64);
  // Blocks are often released in the order of their addresses, or in reverse: both ends are near.
  const std::uint64_t key = key_of(state);
  Block after = bin.smallest;
  if (bin.largest != kNone && key_of(blocks_[bin.largest]) < key) {
    after = kNone;
  }
  while (after != kNone && key_of(blocks_[after]) < key) {
    after = blocks_[after].larger;
  }
  const Block before = after == kNone ? bin.largest : blocks_[after].smaller;
  state.smaller = before;
  state.larger = after;
  (before == kNone ? bin.smallest : blocks_[before].larger) = block;
  (after == kNone ? bin.largest : blocks_[after].smaller) = block;
}

void CachingAllocator::remove_free(Block block) {
  const BlockState& state = blocks_[block];
  const std::size_t index = bin_of(state.size);
  Pool& pool = pool_of(state);
  Bin& bin = pool.bins[index];
  (state.smaller == kNone ? bin.smallest : blocks_[state.smaller].larger) = state.larger;
  (state.larger == kNone ? bin.largest : blocks_[state.larger].smaller) = state.smaller;
  if (bin.smallest == kNone) {
    pool.filled[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  }
}

CachingAllocator::Block CachingAllocator::new_state() {
  if (!unused_.empty()) {
    const Block block = unused_.back();
    unused_.pop_back();
    return block;
  }
  blocks_.emplace_back();
  return static_cast<Block>(blocks_.size() - 1);
}

}  // namespace carpool
