#include "estimate/replay/zero.hpp"

#include <algorithm>
#include <cmath>

#include "estimate/layers/model_sizes.hpp"

namespace carpool::estimate {

void share_states(const DescribedJob& job, const ReplayResult& replay, MemoryEstimate& estimate) {
  const unsigned stage = job.setup.zero_stage;
  if (stage == 0 || job.setup.gpus < 2 || job.setup.mode != RunMode::Train) {
    return;
  }
  constexpr std::int64_t kBucketElements = 500'000'000;
  const std::int64_t each = sizes_of(job.setup.precision).parameter;
  const auto keep = [&](std::int64_t& part, unsigned from_stage) {
    if (stage >= from_stage) {
      part /= static_cast<std::int64_t>(job.setup.gpus);
    }
  };
  MemoryBreakdown& parts = estimate.breakdown;
  keep(parts.optimizer, 1);
  keep(parts.gradients, 2);
  keep(parts.weights, 3);
  parts.workspace += each * std::min(replay.parameters, kBucketElements);
  if (stage == 3) {
    parts.workspace += 2 * each * sizes_of_model(job).largest_layer;
  }
  const double margin = static_cast<double>(estimate.upper) /
                        static_cast<double>(std::max<std::int64_t>(estimate.expected, 1));
  parts.allocator_slack = std::max<std::int64_t>(parts.allocator_slack, 0);
  estimate.expected = parts.total();
  estimate.upper = std::llround(static_cast<double>(estimate.expected) * margin);
  estimate.notes.emplace_back("ZeRO: states are partitioned by formula, not replayed");
}

}  // namespace carpool::estimate
