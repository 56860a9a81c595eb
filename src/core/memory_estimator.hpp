// Interface of memory estimators.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "core/described_job.hpp"
#include "core/memory_estimate.hpp"

namespace carpool {

// Fitted, immutable, thread-safe. A kind of job that the estimator does not support is an
// Unsupported error; a job that makes no sense (batch 0) is an InvalidInput error.
class MemoryEstimator {
 public:
  virtual ~MemoryEstimator() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Result<MemoryEstimate> estimate(const DescribedJob& job) const = 0;
};

}  // namespace carpool
