// The best MPS thread limits for a group.
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

// One limit a member, in percent.
using ThreadLimits = std::vector<double>;

// The splits that are tried: 100 % each, and every way to deal out 100 % in steps of ten. These are
// the kinds that measurements exist for; limits that overlap in part (80 and 60, say) have never
// been measured, and a model's word on them is a guess. More than ten members: 100 % each alone.
[[nodiscard]] std::vector<ThreadLimits> usual_splits(std::size_t members);

struct SplitChoice {
  Group group;             // the members as asked, with the best limits
  GroupForecast forecast;  // of that, with intervals where the model has them
  Score score;
  Score unlimited;  // the same group with 100 % each
  Score equal;      // with 100 / n each, in whole percent

  // Relative gain of `score` over the two; 0.1 is 10 % more. Zero where the other has no value.
  [[nodiscard]] double gain_over_unlimited() const;
  [[nodiscard]] double gain_over_equal() const;
};

// The candidate that scores best by the forecast; the limits in `members` are ignored. Among equals
// the split closest to 100 % each, so that a limit is set only where it pays. When every split
// breaks the floor, the one that comes nearest to it, marked infeasible.
[[nodiscard]] Result<SplitChoice> choose_split(const Predictor& predictor,
                                               const Group& members,
                                               const Objective& objective,
                                               std::span<const ThreadLimits> candidates);

}  // namespace carpool::predict
