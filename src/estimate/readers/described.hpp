// A job from what a file and a user say of it; what nobody said is assumed and noted.
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
  std::string basis{};  // empty: as the estimator calls it
  double widening = 1.0;
  std::vector<std::string> notes{};
};

// `default_batch`: of a program that has one of its own; else a job whose batch nobody said is an
// error.
[[nodiscard]] Result<RequestedJob> describe_job(ReadModel read,
                                                const JobSettings& settings,
                                                std::optional<std::int64_t> default_batch);

// The estimator for jobs of which the source told less than it was fitted on: the same expected
// value, a bound that is further away.
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
