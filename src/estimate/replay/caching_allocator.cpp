#include "estimate/replay/caching_allocator.hpp"

namespace carpool::estimate {
namespace {

constexpr std::uint32_t kUnit = 512;  // bytes
constexpr std::uint32_t kUnitsOfMiB = (1U << 20U) / kUnit;
constexpr std::uint32_t kSmallLimit = kUnitsOfMiB;  // largest request of the small pool
constexpr std::uint32_t kSmallSegment = 2 * kUnitsOfMiB;
constexpr std::uint32_t kSharedSegment = 20 * kUnitsOfMiB;  // for large requests below kOwnSegment
constexpr std::uint32_t kOwnSegment = 10 * kUnitsOfMiB;     // from here on a segment of its own
constexpr std::uint32_t kSegmentRounding = 2 * kUnitsOfMiB;
constexpr std::size_t kChunkBlocks = 128;

bool is_small(MemoryUnits size) {
  return size <= kSmallLimit;
}

// Whether the rest of a block becomes a block of its own.
bool splits(MemoryUnits rest, MemoryUnits request) {
  return rest > (is_small(request) ? 0 : kSmallLimit);
}

// Makes two blocks neighbours in their segment.
void link(MemoryBlock& before, MemoryBlock& after) {
  before.next = &after;
  after.previous = &before;
}

}  // namespace

// 0: nothing to allocate.
CachingAllocator::Units CachingAllocator::units_of(std::int64_t bytes) {
  // As an unsigned number, bytes - 1 exceeds the room for 0 and negative sizes too.
  if (static_cast<std::uint64_t>(bytes) - 1 >= room_) {
    if (bytes > 0) {
      overflowed_ = true;
      room_ = 0;
    }
    return 0;
  }
  return static_cast<Units>((bytes + kUnit - 1) / kUnit);
}

void CachingAllocator::count(Units size, MemoryPurpose use) {
  allocated_ += size;
  by_use_[static_cast<std::size_t>(use)] += size;
}

// The peak is updated before each release only: between releases the sum never falls.
void CachingAllocator::discount(Units size, MemoryPurpose use) {
  if (allocated_ > peak_allocated_) {
    peak_allocated_ = allocated_;
    by_use_at_peak_ = by_use_;
  }
  allocated_ -= size;
  by_use_[static_cast<std::size_t>(use)] -= size;
}

UseBytes CachingAllocator::uses_at_peak() const {
  const UseUnits& units = allocated_ > peak_allocated_ ? by_use_ : by_use_at_peak_;
  UseBytes bytes{};
  std::ranges::transform(units, bytes.begin(), to_bytes);
  return bytes;
}

// Inline, as the next four are part of allocate() and release(), which run for every tensor.
inline void CachingAllocator::forget(MemoryBlock& block) {
  block.next = unused_;
  unused_ = &block;
}

inline MemoryBlock& CachingAllocator::new_block() {
  if (unused_ == nullptr) {
    for (MemoryBlock& block : chunks_.emplace_back(kChunkBlocks)) {
      forget(block);
    }
  }
  MemoryBlock& block = *unused_;
  unused_ = block.next;
  return block;
}

// Cuts a free block to `size`; the rest stays free.
inline void CachingAllocator::cut(MemoryBlock& block, Units size) {
  MemoryBlock& rest = new_block();
  rest.set_place(block.address() + size, block.size() - size);
  rest.small = block.small;
  block.set_place(block.address(), size);
  link(rest, *block.next);
  link(block, rest);
  pool(rest.small).put(rest);
}

// A free block for a request.
inline MemoryBlock& CachingAllocator::find(Units size) {
  MemoryBlock* const found = pool(is_small(size)).best_fit(size);
  return found != nullptr ? *found : new_segment(size);
}

CachingAllocator::Block CachingAllocator::allocate(std::int64_t bytes, MemoryPurpose use) {
  const Units size = units_of(bytes);
  if (size == 0) {
    return kNone;
  }
  MemoryBlock& block = find(size);
  pool(is_small(size)).take(block);
  if (splits(block.size() - size, size)) {
    cut(block, size);
  }
  block.use = use;
  count(block.size(), use);
  return &block;
}

// An allocation that is released at once leaves the free blocks as they were, except for a segment
// that it has to reserve.
void CachingAllocator::touch(std::int64_t bytes, MemoryPurpose use) {
  const Units size = units_of(bytes);
  if (size == 0) {
    return;
  }
  const Units found = find(size).size();
  const Units taken = splits(found - size, size) ? size : found;
  count(taken, use);
  discount(taken, use);
}

void CachingAllocator::release(Block released) {
  if (released == kNone) {
    return;
  }
  MemoryBlock* block = released;
  discount(block->size(), block->use);
  FreeBlocks& free = pool(block->small);
  if (MemoryBlock& next = *block->next; next.free) {
    free.take(next);
    block->set_place(block->address(), block->size() + next.size());
    link(*block, *next.next);
    forget(next);
  }
  if (MemoryBlock& before = *block->previous; before.free) {
    free.take(before);
    before.set_place(before.address(), before.size() + block->size());
    link(before, *block->next);
    forget(*block);
    block = &before;
  }
  free.put(*block);
}

MemoryBlock& CachingAllocator::new_segment(Units size) {
  Units segment = kSmallSegment;
  if (!is_small(size)) {
    segment = size < kOwnSegment
                  ? kSharedSegment
                  : (size + kSegmentRounding - 1) / kSegmentRounding * kSegmentRounding;
  }
  MemoryBlock& block = new_block();
  block.set_place(static_cast<Units>(next_address_), segment);
  next_address_ += segment;
  block.small = is_small(size);
  block.previous = &border_;
  block.next = &border_;
  set_reserved(reserved_ + segment);
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  pool(block.small).put(block);
  return block;
}

void CachingAllocator::set_reserved(std::uint64_t units) {
  reserved_ = units;
  room_ = static_cast<std::uint64_t>(std::max<std::int64_t>(kMostBytes - to_bytes(reserved_), 0));
}

void CachingAllocator::give_back() {
  if (overflowed_) {
    return;  // the figures are no longer valid
  }
  const auto is_segment = [this](const MemoryBlock& block) {
    return block.previous == &border_ && block.next == &border_;
  };
  std::uint64_t freed = 0;
  for (FreeBlocks& free : pools_) {
    free.take_all(is_segment, [&](MemoryBlock& block) {
      freed += block.size();
      forget(block);
    });
  }
  set_reserved(reserved_ - freed);
}

}  // namespace carpool::estimate
