// Completes a job from a model file and the settings of the user; what neither gives is assumed and
// noted.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/described_job.hpp"
#include "core/memory_estimator.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

struct RequestedJob {
  DescribedJob job{};
  std::string basis{};    // empty: that of the estimator
  double widening = 1.0;  // factor on the bound
  std::vector<std::string> notes{};
};

// `default_batch`: the default of the program, if it has one; without it a missing batch size is an
// error.
[[nodiscard]] Result<RequestedJob> describe_job(ReadModel read,
                                                const JobSettings& settings,
                                                std::optional<std::int64_t> default_batch);

// The estimator for jobs that are described less completely than those it was fitted to: the same
// expected value, a wider bound.
class WiderEstimator final : public MemoryEstimator {
 public:
  WiderEstimator(const MemoryEstimator& inner, double widening)
      : inner_(inner), widening_(widening) {}

  [[nodiscard]] std::string_view name() const override { return inner_.name(); }
  [[nodiscard]] Result<MemoryEstimate> estimate(const DescribedJob& job) const override;

 private:
  const MemoryEstimator& inner_;
  double widening_;
};

}  // namespace carpool::estimate
