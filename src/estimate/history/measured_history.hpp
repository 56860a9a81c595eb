// Memory from measured peaks of the same command, at the same or at other batch sizes. Uses no
// model and reads no file, so the server may call it.
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

// From the peaks of earlier runs of the same command, in bytes: expected is the largest, the bound
// a little more. NotFound without peaks.
[[nodiscard]] Result<MemoryEstimate> estimate_from_history(std::span<const std::int64_t> peaks);

// Memory is affine in the batch size: a line is fitted to the peaks at two or more batch sizes. The
// bound widens with the distance from them. For a measured batch size the estimate is that of
// estimate_from_history().
[[nodiscard]] Result<MemoryEstimate> estimate_from_batches(std::span<const BatchPeak> peaks,
                                                           std::int64_t batch);

// The largest batch size under `below` whose bound is within `bytes`; nothing: one sample does not
// fit. NotFound without runs at two batch sizes.
[[nodiscard]] Result<std::optional<std::int64_t>> largest_batch_from_batches(
    std::span<const BatchPeak> peaks,
    std::int64_t bytes,
    std::int64_t below = std::numeric_limits<std::int64_t>::max());

}  // namespace carpool::estimate
