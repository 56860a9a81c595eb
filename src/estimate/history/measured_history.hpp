// Memory from what was measured before: the same command, or the same at other batch sizes. Needs
// no model and reads no file, so a daemon may call it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "core/memory_estimate.hpp"

namespace carpool::estimate {

struct BatchPeak {
  std::int64_t batch = 0;
  std::int64_t bytes = 0;  // peak on one GPU, context included
};

// From peaks of earlier runs of the same command, bytes: the largest, and a little above it. An
// error without any.
[[nodiscard]] Result<MemoryEstimate> estimate_from_history(std::span<const std::int64_t> peaks);

// Memory is affine in the batch: a line through runs at two or more batch sizes. The further from
// the measured ones, the wider the bound. A batch that was measured itself is history.
[[nodiscard]] Result<MemoryEstimate> estimate_from_batches(std::span<const BatchPeak> peaks,
                                                           std::int64_t batch);

// The largest batch under `below` whose bound, as above, stays within `bytes`; none: not even one
// sample fits. NotFound without runs at two batch sizes.
[[nodiscard]] Result<std::optional<std::int64_t>> largest_batch_from_batches(
    std::span<const BatchPeak> peaks,
    std::int64_t bytes,
    std::int64_t below = std::numeric_limits<std::int64_t>::max());

}  // namespace carpool::estimate
