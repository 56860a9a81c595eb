// What an estimate leads to: which change of the job would help most, and the largest batch that
// fits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/described_job.hpp"
#include "core/memory_estimate.hpp"
#include "core/memory_estimator.hpp"

namespace carpool::estimate {

// Changes that the job could make and that would lessen what it needs, the most effective first.
[[nodiscard]] std::vector<MemoryLever> levers(const MemoryEstimator& estimator,
                                              const DescribedJob& job);

// The largest batch whose upper bound stays within `bytes`; none: not even one sample fits.
[[nodiscard]] Result<std::optional<std::int64_t>> largest_batch(const MemoryEstimator& estimator,
                                                                const DescribedJob& job,
                                                                std::int64_t bytes);

}  // namespace carpool::estimate
