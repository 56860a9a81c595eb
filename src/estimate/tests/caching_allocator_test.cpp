#include "estimate/replay/caching_allocator.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/numpy_random.hpp"
#include "base/text/memory_size.hpp"

namespace carpool::estimate {
namespace {

constexpr MemoryPurpose kUse = MemoryPurpose::Activations;

// The rules in their simplest form: one list of blocks, searched from end to end.
class NaiveAllocator {
 public:
  std::int64_t allocate(std::int64_t bytes, MemoryPurpose use) {
    const std::int64_t size = (bytes + 511) / 512 * 512;
    const bool small = size <= kMiB;
    auto best = blocks_.end();
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      const Block& state = block->second;
      if (state.free && state.small == small && state.size >= size &&
          (best == blocks_.end() || state.size < best->second.size)) {
        best = block;
      }
    }
    if (best == blocks_.end()) {
      std::int64_t segment = 2 * kMiB;
      if (!small) {
        segment = size < 10 * kMiB ? 20 * kMiB : (size + 2 * kMiB - 1) / (2 * kMiB) * 2 * kMiB;
      }
      best = blocks_.insert({reserved, {segment, segments_++, true, small}}).first;
      reserved += segment;
    }
    const std::int64_t rest = best->second.size - size;
    if (small ? rest >= 512 : rest > kMiB) {
      blocks_[best->first + size] = {rest, best->second.segment, true, small};
      best->second.size = size;
    }
    best->second.free = false;
    best->second.use = use;
    allocated += best->second.size;
    by_use_[static_cast<std::size_t>(use)] += best->second.size;
    if (allocated > peak) {
      peak = allocated;
      uses_at_peak = by_use_;
    }
    return best->first;
  }

  void release(std::int64_t address) {
    allocated -= blocks_[address].size;
    by_use_[static_cast<std::size_t>(blocks_[address].use)] -= blocks_[address].size;
    blocks_[address].free = true;
    for (auto block = blocks_.begin(); block != blocks_.end();) {
      const auto next = std::next(block);
      if (next != blocks_.end() && block->second.free && next->second.free &&
          block->second.segment == next->second.segment) {
        block->second.size += next->second.size;
        blocks_.erase(next);
      } else {
        block = next;
      }
    }
  }

  std::int64_t reserved = 0;
  std::int64_t allocated = 0;
  std::int64_t peak = 0;
  UseBytes uses_at_peak{};

 private:
  struct Block {
    std::int64_t size = 0;
    int segment = 0;
    bool free = false;
    bool small = false;
    MemoryPurpose use = kUse;
  };
  std::map<std::int64_t, Block> blocks_;  // by address: the first of equal size is the lowest
  UseBytes by_use_{};
  int segments_ = 0;
};

std::int64_t some_size(NumpyRandom& random) {
  switch (random.interval(4)) {
    case 0:
      return 1 + random.interval(4000);
    case 1:
      return 1 + random.interval(2'000'000);
    case 2:
      return 1 + random.interval(15'000'000);
    case 3:
      return std::int64_t{512} * (1 + random.interval(3000));
    default:
      return 1 + random.interval(60'000'000);
  }
}

// One of a few sizes, as in a model: many free blocks have the same size.
std::int64_t repeated_size(NumpyRandom& random) {
  constexpr auto kSizes = std::to_array<std::int64_t>(
      {512, 1024, 5000, 6000, 700'000, 2'000'000, 2'100'000, 12'000'000, 14'000'000});
  return kSizes[random.interval(kSizes.size() - 1)];
}

void expect_agreement(std::int64_t (*size_of)(NumpyRandom&), int steps) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    NumpyRandom random(seed);
    CachingAllocator fast;
    NaiveAllocator naive;
    std::vector<std::pair<CachingAllocator::Block, std::int64_t>> live;
    for (int step = 0; step < steps; ++step) {
      const std::uint32_t what = random.interval(9);
      if (what < 5 || live.empty()) {
        const std::int64_t bytes = size_of(random);
        const auto use = static_cast<MemoryPurpose>(random.interval(kMemoryUses - 1));
        live.emplace_back(fast.allocate(bytes, use), naive.allocate(bytes, use));
      } else if (what == 5) {
        const std::int64_t bytes = size_of(random);
        fast.touch(bytes, MemoryPurpose::Workspace);
        naive.release(naive.allocate(bytes, MemoryPurpose::Workspace));
      } else {
        const std::size_t at = random.interval(static_cast<std::uint32_t>(live.size()) - 1);
        fast.release(live[at].first);
        naive.release(live[at].second);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
      ASSERT_EQ(fast.reserved(), naive.reserved) << "seed " << seed << ", step " << step;
      ASSERT_EQ(fast.allocated(), naive.allocated) << "seed " << seed << ", step " << step;
      ASSERT_EQ(fast.peak_allocated(), naive.peak) << "seed " << seed << ", step " << step;
      ASSERT_EQ(fast.uses_at_peak(), naive.uses_at_peak) << "seed " << seed << ", step " << step;
    }
  }
}

TEST(CachingAllocator, AgreesWithTheNaiveOneOnRandomSequences) {
  expect_agreement(some_size, 600);
}

TEST(CachingAllocator, AgreesWithTheNaiveOneWhereSizesRepeat) {
  expect_agreement(repeated_size, 1500);
}

TEST(CachingAllocator, ReservesWholeSegments) {
  CachingAllocator allocator;
  static_cast<void>(allocator.allocate(1, kUse));
  EXPECT_EQ(allocator.reserved(), 2 * kMiB);
  EXPECT_EQ(allocator.allocated(), 512);
  static_cast<void>(allocator.allocate(2 * kMiB, kUse));
  EXPECT_EQ(allocator.reserved(), 22 * kMiB);
  static_cast<void>(allocator.allocate(19 * kMiB, kUse));  // no room in the 18 that are left
  EXPECT_EQ(allocator.reserved(), 22 * kMiB + 20 * kMiB);
}

TEST(CachingAllocator, CountsABlockThatIsNotSplitAsAWhole) {
  CachingAllocator allocator;
  const auto block = allocator.allocate(12 * kMiB, kUse);
  allocator.release(block);
  static_cast<void>(allocator.allocate(12 * kMiB - kMiB / 2, kUse));
  EXPECT_EQ(allocator.allocated(), 12 * kMiB);
}

TEST(CachingAllocator, UsesAtThePeakAddUpToIt) {
  CachingAllocator allocator;
  const auto weights = allocator.allocate(3 * kMiB, MemoryPurpose::Weights);
  const auto work = allocator.allocate(5 * kMiB, MemoryPurpose::Workspace);
  allocator.release(work);
  static_cast<void>(allocator.allocate(kMiB, MemoryPurpose::Gradients));
  allocator.release(weights);
  const UseBytes uses = allocator.uses_at_peak();
  std::int64_t sum = 0;
  for (const std::int64_t bytes : uses) {
    sum += bytes;
  }
  EXPECT_EQ(sum, allocator.peak_allocated());
  EXPECT_EQ(uses[static_cast<std::size_t>(MemoryPurpose::Workspace)], 5 * kMiB);
}

TEST(CachingAllocator, MoreThanAnyGpuHasIsAnOverflow) {
  CachingAllocator allocator;
  EXPECT_EQ(allocator.allocate(CachingAllocator::kMostBytes + 1, kUse), CachingAllocator::kNone);
  EXPECT_TRUE(allocator.overflowed());
  EXPECT_EQ(allocator.allocate(1, kUse), CachingAllocator::kNone);
}

TEST(CachingAllocator, ZeroAndNegativeSizesAllocateNothing) {
  CachingAllocator allocator;
  EXPECT_EQ(allocator.allocate(0, kUse), CachingAllocator::kNone);
  EXPECT_EQ(allocator.allocate(-1, kUse), CachingAllocator::kNone);
  allocator.touch(0, kUse);
  EXPECT_EQ(allocator.reserved(), 0);
  EXPECT_FALSE(allocator.overflowed());
}

TEST(CachingAllocator, ReturnsSegmentsWithoutABlockInUse) {
  CachingAllocator allocator;
  const auto kept = allocator.allocate(30 * kMiB, MemoryPurpose::Weights);
  allocator.touch(200 * kMiB, MemoryPurpose::Workspace);
  const auto shared = allocator.allocate(5 * kMiB, MemoryPurpose::Weights);
  EXPECT_EQ(allocator.reserved(), 230 * kMiB);
  allocator.give_back();
  // The second segment has a block in use.
  EXPECT_EQ(allocator.reserved(), 230 * kMiB);
  allocator.release(shared);
  allocator.give_back();
  EXPECT_EQ(allocator.reserved(), 30 * kMiB);
  EXPECT_EQ(allocator.peak_reserved(), 230 * kMiB);
  allocator.touch(100 * kMiB, MemoryPurpose::Workspace);
  EXPECT_EQ(allocator.reserved(), 130 * kMiB);
  EXPECT_EQ(allocator.peak_reserved(), 230 * kMiB);
  allocator.release(kept);
  allocator.give_back();
  EXPECT_EQ(allocator.reserved(), 0);
  EXPECT_EQ(allocator.allocated(), 0);
}

}  // namespace
}  // namespace carpool::estimate
