// Protocol `mps-split`: how near to the best measured MPS split a model's choice comes, on groups
// that it was not trained on (docs/mps-splits.md).
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

struct SplitMeasurements {
  std::vector<dataset::GroupRow> unlimited;   // groups at 100 % each
  std::vector<dataset::GroupRow> partitions;  // groups under thread limits
  std::vector<dataset::LimitedRun> alone;     // workloads alone under thread limits
};

// Tables `pairs` and `partitions`, and exclusive_mps.csv where there is one.
[[nodiscard]] Result<SplitMeasurements> load_split_measurements(const dataset::Dataset& dataset);

struct SplitProtocol {
  std::vector<std::uint32_t> seeds = {11, 12, 13};
  std::size_t folds = 5;
  std::size_t least_splits = 6;  // of a group in a campaign, for it to be judged
  std::function<void(const std::string&)> on_progress;  // called once per seed and fold
};

// How one policy did by one objective; regrets from 0 (the best measured split) to 1.
struct SplitResult {
  std::string policy;       // "model", "100 % each", "equal shares", "best fixed split"
  std::string objective;    // see split_objectives()
  std::string campaign;     // empty: all of them
  std::size_t choices = 0;  // over which the regrets are; those that miss the floor are not
  double regret_median = 0.0;
  double regret_mean = 0.0;
  double regret_p90 = 0.0;
  std::optional<double> floor_missed;  // share of choices; empty where the objective has no floor
};

// Mean relative error of the members' speeds over all held-out rows.
struct SplitAccuracy {
  std::string campaign;  // empty: all of them
  std::optional<double> mape_limited;
  std::optional<double> mape_unlimited;  // rows at 100 % each
};

struct SplitReport {
  std::size_t groups = 0;  // judged once per seed
  std::size_t trials = 0;  // models trained
  std::vector<SplitResult> results;
  std::vector<SplitAccuracy> accuracy;
};

using SplitTrainer = std::function<Result<std::unique_ptr<model::ThroughputModel>>(
    const model::TrainingSet& training)>;

// Cross-validation over groups: all rows of a group, whatever the campaign and the order of launch,
// are on one side, and workloads alone are always in training. The model is not told the campaign
// of what it forecasts, as a user could not tell it either.
[[nodiscard]] Result<SplitReport> judge_splits(const dataset::Dataset& dataset,
                                               const SplitMeasurements& measurements,
                                               const SplitProtocol& protocol,
                                               const SplitTrainer& train);

}  // namespace carpool::evaluate
