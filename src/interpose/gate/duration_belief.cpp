#include "interpose/gate/duration_belief.hpp"

#include <algorithm>

namespace carpool::interpose::gate {
namespace {

constexpr std::uint32_t kEnough = 32;
// Quantiles are taken now and then: a walk over all buckets.
constexpr std::uint32_t kRefresh = 16;
// The table keeps the mean distance from the mean. Three of them above the mean are near the 99th
// percentile of a normal distribution.
constexpr float kDeviations = 3;
// A kernel with few samples may be twice as long as they tell.
constexpr std::uint32_t kFewSamples = 3;

}  // namespace

void DurationBelief::learn(Nanoseconds measured_ns) {
  durations_.add(measured_ns);
  ++learned_;
  if (learned_ % kRefresh != 0) {
    return;
  }
  long_ns_ = durations_.quantile(900);
  if (learned_ >= kEnough) {
    unknown_ns_ = durations_.quantile(950);
  }
}

void DurationBelief::estimate(Work& work, const KernelEstimate& known) const {
  // The driver may have loaded something while the only sample was taken.
  const bool doubtful = known.count == 1 && known.source == KernelSource::Sampled &&
                        known.mean_ns > static_cast<float>(unknown_ns_);
  work.known = known.count > 0 && !doubtful;
  if (!work.known) {
    work.expected_ns = unknown_ns_;
    work.bound_ns = unknown_ns_;
    return;
  }
  const auto mean = static_cast<Nanoseconds>(known.mean_ns);
  const auto spread = static_cast<Nanoseconds>(kDeviations * known.deviation_ns);
  work.expected_ns = std::max<Nanoseconds>(1, mean);
  work.bound_ns = work.expected_ns + spread;
  if (known.count < kFewSamples) {
    work.bound_ns = std::max(work.bound_ns, 2 * work.expected_ns);
  }
}

}  // namespace carpool::interpose::gate
