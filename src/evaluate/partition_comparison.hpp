// One group measured under several MPS splits: which of them a policy picks, and what that costs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataset/dataset.hpp"
#include "model/throughput_model.hpp"
#include "predict/objective.hpp"

namespace carpool::evaluate {

struct NamedObjective {
  std::string name;
  predict::Objective objective;
};

// What splits are judged by: throughput, normalized, max-min, weighted with one primary at weight 1
// and the others at 0.25, and throughput with a floor at 0.3 of each member's own speed.
[[nodiscard]] std::vector<NamedObjective> split_objectives();

// The profiles of a group in ascending order: the same for every order of launch.
using GroupKey = std::vector<std::size_t>;
[[nodiscard]] GroupKey group_key(const Group& group);

// All splits of one ordered group in one campaign.
struct SplitContest {
  std::string campaign;
  GroupKey key;
  std::vector<const dataset::GroupRow*> rows;
};

// The groups with at least so many measured splits, ordered by campaign and members. The rows must
// outlive them.
[[nodiscard]] std::vector<SplitContest> split_contests(
    std::span<const dataset::GroupRow> partitions, std::size_t least_splits);

// What a pick is worth. Own speeds are the recorded exclusive throughputs, on both sides.
struct SplitOutcome {
  double regret = 0.0;        // 1 - value of the pick / value of the best split, both measured
  bool floor_missed = false;  // the pick breaks the floor, and the regret says nothing
};

// Empty where no measured split keeps the floor, or where the best is worth nothing.
[[nodiscard]] std::optional<SplitOutcome> judge_pick(const dataset::Dataset& dataset,
                                                     const predict::Objective& objective,
                                                     const SplitContest& contest,
                                                     std::size_t pick);

// The split that scores best by the forecasts, which are those of the contest's rows in order.
[[nodiscard]] std::size_t pick_by_forecast(const dataset::Dataset& dataset,
                                           const predict::Objective& objective,
                                           const SplitContest& contest,
                                           std::span<const GroupForecast> forecasts);

// The measured split nearest to the given limits, by the sum of absolute differences.
[[nodiscard]] std::size_t pick_nearest(const SplitContest& contest, std::span<const double> limits);

// The limits that cost least over the contests, of all that were measured in one of them; a missed
// floor counts as losing everything. Contests of another group size are passed over.
[[nodiscard]] std::vector<double> best_fixed_split(const dataset::Dataset& dataset,
                                                   const predict::Objective& objective,
                                                   std::span<const SplitContest> contests,
                                                   std::size_t group_size);

}  // namespace carpool::evaluate
