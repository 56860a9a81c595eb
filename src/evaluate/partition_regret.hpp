// Protocol `mps-split`: the regret of the MPS partition that a model chooses against the best
// measured one, on groups that it was not trained on (docs/mps-splits.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "model/throughput_model.hpp"

namespace carpool::evaluate {

struct PartitionMeasurements {
  std::vector<dataset::GroupRow> unlimited;    // groups at 100 % each
  std::vector<dataset::GroupRow> partitions;   // groups under thread limits
  std::vector<dataset::LimitedRun> solo_runs;  // under thread limits
};

// Tables `pairs` and `partitions`, and exclusive_mps.csv where there is one.
[[nodiscard]] Result<PartitionMeasurements> load_partition_measurements(
    const dataset::Dataset& dataset);

struct PartitionProtocol {
  std::vector<std::uint32_t> seeds = {11, 12, 13};
  std::size_t folds = 5;
  std::size_t least_partitions = 6;  // of a group in a campaign, for it to be evaluated
  std::function<void(const std::string&)> on_progress;  // called once per seed and fold
};

// The result of one policy by one objective; regrets from 0 (the best measured partition) to 1.
struct PartitionResult {
  std::string policy;       // "model", "100 % each", "equal shares", "best fixed split"
  std::string objective;    // see partition_objectives()
  std::string campaign;     // empty: all of them
  std::size_t choices = 0;  // with a regret: those that keep the floor
  double regret_median = 0.0;
  double regret_mean = 0.0;
  double regret_p90 = 0.0;
  std::optional<double> floor_missed;  // share of choices; empty where the objective has no floor
};

// Mean relative error of the speeds of members over all held-out rows.
struct PartitionAccuracy {
  std::string campaign;  // empty: all of them
  std::optional<double> mape_limited;
  std::optional<double> mape_unlimited;  // rows at 100 % each
};

struct PartitionReport {
  std::size_t groups = 0;  // each evaluated once per seed
  std::size_t trials = 0;  // models trained
  std::vector<PartitionResult> results;
  std::vector<PartitionAccuracy> accuracy;
};

using PartitionTrainer = std::function<Result<std::unique_ptr<model::ThroughputModel>>(
    const model::TrainingSet& training)>;

// Cross-validation over groups: all rows of a group, whatever the campaign and the order of launch,
// are on one side, and solo runs are always in training. The model does not receive the campaign of
// the group that it forecasts, since users do not know it either.
[[nodiscard]] Result<PartitionReport> judge_partitions(const dataset::Dataset& dataset,
                                                       const PartitionMeasurements& measurements,
                                                       const PartitionProtocol& protocol,
                                                       const PartitionTrainer& train);

}  // namespace carpool::evaluate
