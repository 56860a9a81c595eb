// One group measured under several MPS partitions: which of them a policy picks, and the regret.
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

// The objectives of the evaluation: throughput, normalized, max-min, weighted with one primary at
// weight 1 and the others at 0.25, and throughput with a floor at 0.3 of the solo speed.
[[nodiscard]] std::vector<NamedObjective> partition_objectives();

// The profiles of a group in ascending order: the same for every order of launch.
using GroupKey = std::vector<std::size_t>;
[[nodiscard]] GroupKey group_key(const Group& group);

// All partitions of one ordered group in one campaign.
struct PartitionComparison {
  std::string campaign;
  GroupKey key;
  std::vector<const dataset::GroupRow*> rows;
};

// The groups with at least `least_partitions` different measured partitions, ordered by campaign
// and members. The rows must outlive them.
[[nodiscard]] std::vector<PartitionComparison> partition_comparisons(
    std::span<const dataset::GroupRow> partitions, std::size_t least_partitions);

// The outcome of a pick. Solo speeds are the recorded exclusive throughputs, on both sides.
struct PartitionOutcome {
  double regret = 0.0;        // 1 - value of the pick / value of the best partition, both measured
  bool floor_missed = false;  // the pick breaks the floor; the regret is meaningless
};

// Empty where no measured partition keeps the floor, or where the best has no value.
[[nodiscard]] std::optional<PartitionOutcome> judge_pick(const dataset::Dataset& dataset,
                                                         const predict::Objective& objective,
                                                         const PartitionComparison& comparison,
                                                         std::size_t pick);

// The partition that scores best by the forecasts of the rows, given in their order.
[[nodiscard]] std::size_t pick_by_forecast(const dataset::Dataset& dataset,
                                           const predict::Objective& objective,
                                           const PartitionComparison& comparison,
                                           std::span<const GroupForecast> forecasts);

// A measured partition with these limits, to a percent of the GPU for each member.
[[nodiscard]] std::optional<std::size_t> pick_measured(const PartitionComparison& comparison,
                                                       std::span<const double> limits);

// The measured partition nearest to the given limits, by the sum of absolute differences.
[[nodiscard]] std::size_t pick_nearest(const PartitionComparison& comparison,
                                       std::span<const double> limits);

// Of all measured limits, those with the least total regret over the comparisons; a missed floor
// counts as a regret of 1. Comparisons of another group size are skipped.
[[nodiscard]] std::vector<double> best_fixed_partition(
    const dataset::Dataset& dataset,
    const predict::Objective& objective,
    std::span<const PartitionComparison> comparisons,
    std::size_t group_size);

}  // namespace carpool::evaluate
