// The best MPS partition of a group: one thread limit per member.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "core/forecast.hpp"
#include "core/group.hpp"
#include "predict/objective.hpp"
#include "predict/predictor.hpp"

namespace carpool::predict {

// One limit per member, in percent.
using ThreadLimits = std::vector<double>;

// The partitions to try: 100 % each, and every way to divide 100 % in steps of ten. Measurements
// exist for these; limits that overlap in part (80 and 60, say) have never been measured, and a
// forecast of them is a guess. More than ten members: only 100 % each.
[[nodiscard]] std::vector<ThreadLimits> usual_partitions(std::size_t members);

struct PartitionChoice {
  Group group;             // the given members, with the best limits
  GroupForecast forecast;  // of that group, with intervals where the model has them
  Score score;
  Score unlimited;  // the same group with 100 % each
  Score equal;      // with 100 / n each, in whole percent

  // Relative gain of `score` over those two; 0.1 is 10 % more. Zero where the other has no value.
  [[nodiscard]] double gain_over_unlimited() const;
  [[nodiscard]] double gain_over_equal() const;
};

// The candidate that scores best by the forecast; the limits in `members` are ignored. Among equals
// the partition closest to 100 % each, so that a limit is set only where it helps. When every
// partition breaks the floor, the one nearest to it, marked infeasible.
[[nodiscard]] Result<PartitionChoice> choose_partition(const Predictor& predictor,
                                                       const Group& members,
                                                       const Objective& objective,
                                                       std::span<const ThreadLimits> candidates);

}  // namespace carpool::predict
