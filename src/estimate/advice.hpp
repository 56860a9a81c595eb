// Advice that follows from estimates: changes that reduce the memory of a job, and the largest
// batch that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/described_job.hpp"
#include "core/memory_estimate.hpp"
#include "core/memory_estimator.hpp"

namespace carpool::estimate {

// Changes of the job that reduce its expected memory, the most effective first.
[[nodiscard]] std::vector<MemoryLever> levers(const MemoryEstimator& estimator,
                                              const DescribedJob& job);

// The largest batch whose upper bound stays within `bytes`; nothing: one sample does not fit.
[[nodiscard]] Result<std::optional<std::int64_t>> largest_batch(const MemoryEstimator& estimator,
                                                                const DescribedJob& job,
                                                                std::int64_t bytes);

}  // namespace carpool::estimate
