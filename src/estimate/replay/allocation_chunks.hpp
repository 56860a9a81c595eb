// The allocations of a model's tensors, joined to few enough to replay fast.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/text/memory_size.hpp"
#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {

// Sizes of consecutive allocations. Small ones lie side by side in their segments, so they are
// joined, up to the largest size of the small pool; a model has many of them.
class AllocationChunks {
 public:
  void add(std::int64_t bytes) {
    constexpr std::int64_t kBlock = 512;
    const std::int64_t size = times((bytes + kBlock - 1) / kBlock, kBlock);
    if (size > kMiB) {
      sizes_.push_back(size);
      return;
    }
    if (pending_ + size > kMiB) {
      flush();
    }
    pending_ += size;
  }
  [[nodiscard]] const std::vector<std::int64_t>& sizes() {
    flush();
    return sizes_;
  }

 private:
  void flush() {
    if (pending_ > 0) {
      sizes_.push_back(std::exchange(pending_, 0));
    }
  }

  std::vector<std::int64_t> sizes_;
  std::int64_t pending_ = 0;
};

}  // namespace carpool::estimate
