#include "evaluate/partition_regret.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/numpy_random.hpp"
#include "evaluate/partition_comparison.hpp"
#include "evaluate/partition_tally.hpp"

namespace carpool::evaluate {
namespace {

using Folds = std::map<GroupKey, std::size_t>;

// Distributes the groups of the partitions over the folds, evenly, at random.
Folds assign_folds(std::span<const dataset::GroupRow> partitions,
                   std::size_t folds,
                   std::uint32_t seed) {
  Folds fold_of;
  for (const dataset::GroupRow& row : partitions) {
    fold_of.emplace(group_key(row.members), 0);
  }
  const std::vector<std::size_t> order = NumpyRandom(seed).permutation(fold_of.size());
  std::size_t position = 0;
  for (auto& [key, fold] : fold_of) {
    fold = order[position++] % folds;
  }
  return fold_of;
}

bool is_held_out(const Folds& fold_of, const GroupKey& key, std::size_t fold) {
  const auto found = fold_of.find(key);
  return found != fold_of.end() && found->second == fold;
}

std::vector<dataset::GroupRow> training_rows(std::span<const dataset::GroupRow> rows,
                                             const Folds& fold_of,
                                             std::size_t fold) {
  std::vector<dataset::GroupRow> kept;
  std::copy_if(
      rows.begin(), rows.end(), std::back_inserter(kept), [&](const dataset::GroupRow& row) {
        return !is_held_out(fold_of, group_key(row.members), fold);
      });
  return kept;
}

class PartitionJudge {
 public:
  PartitionJudge(const dataset::Dataset& dataset,
                 const PartitionMeasurements& measurements,
                 const PartitionProtocol& protocol)
      : dataset_(dataset),
        measurements_(measurements),
        comparisons_(partition_comparisons(measurements.partitions, protocol.least_partitions)) {}

  [[nodiscard]] std::size_t groups() const { return comparisons_.size(); }
  [[nodiscard]] std::vector<PartitionResult> results() const { return tally_.results(); }
  [[nodiscard]] std::vector<PartitionAccuracy> accuracy() const { return errors_.results(); }

  [[nodiscard]] Result<void> judge_fold(const Folds& fold_of,
                                        std::size_t fold,
                                        std::uint32_t seed,
                                        const PartitionTrainer& train) {
    model::TrainingSet training;
    training.dataset = &dataset_;
    training.rows = training_rows(measurements_.unlimited, fold_of, fold);
    training.fit_rows = training.rows.size();
    training.partitions = training_rows(measurements_.partitions, fold_of, fold);
    training.limited_runs = measurements_.solo_runs;
    training.seed = seed;
    const auto model = train(training);
    if (!model) {
      return tl::unexpected(model.error());
    }
    const auto forecaster = (*model)->bind(dataset_.profiles);
    if (!forecaster) {
      return tl::unexpected(forecaster.error());
    }
    judge_fixed_partitions(fold_of, fold);
    return judge_model(**forecaster, fold_of, fold);
  }

 private:
  void judge_fixed_partitions(const Folds& fold_of, std::size_t fold) {
    std::vector<PartitionComparison> seen;
    std::vector<const PartitionComparison*> held_out;
    for (const PartitionComparison& comparison : comparisons_) {
      if (is_held_out(fold_of, comparison.key, fold)) {
        held_out.push_back(&comparison);
      } else {
        seen.push_back(comparison);
      }
    }
    for (const NamedObjective& named : objectives_) {
      std::map<std::size_t, std::vector<double>> learned;  // by group size
      for (const PartitionComparison* comparison : held_out) {
        const std::size_t size = comparison->key.size();
        if (!learned.contains(size)) {
          learned[size] = best_fixed_partition(dataset_, named.objective, seen, size);
        }
        // Only where they were measured: without 100 % each, the nearest limits may be 10 and 90 %.
        const auto add = [&](const char* policy, const std::vector<double>& limits) {
          if (const auto pick = pick_measured(*comparison, limits)) {
            tally_.add(policy,
                       named,
                       comparison->campaign,
                       judge_pick(dataset_, named.objective, *comparison, *pick));
          }
        };
        add("100 % each", std::vector<double>(size, kAllThreads));
        add("equal shares", std::vector<double>(size, kAllThreads / static_cast<double>(size)));
        add("best fixed split", learned[size]);
      }
    }
  }

  [[nodiscard]] Result<void> judge_model(const model::Forecaster& forecaster,
                                         const Folds& fold_of,
                                         std::size_t fold) {
    for (const PartitionComparison& comparison : comparisons_) {
      if (!is_held_out(fold_of, comparison.key, fold)) {
        continue;
      }
      std::vector<Group> partitions;
      partitions.reserve(comparison.rows.size());
      for (const dataset::GroupRow* row : comparison.rows) {
        partitions.push_back(row->members);
      }
      const auto forecasts = forecaster.forecast(partitions, model::ForecastDetail::PointOnly);
      if (forecasts.front().members.empty()) {
        return fail(ErrorCode::Unsupported,
                    "protocol mps-split needs a model that predicts each member, such as share");
      }
      for (const NamedObjective& named : objectives_) {
        const std::size_t pick = pick_by_forecast(dataset_, named.objective, comparison, forecasts);
        tally_.add("model",
                   named,
                   comparison.campaign,
                   judge_pick(dataset_, named.objective, comparison, pick));
      }
    }
    for (const dataset::GroupRow& row : measurements_.partitions) {
      if (is_held_out(fold_of, group_key(row.members), fold)) {
        errors_.add(
            row,
            forecaster.forecast(std::span(&row.members, 1), model::ForecastDetail::PointOnly)
                .front());
      }
    }
    return {};
  }

  const dataset::Dataset& dataset_;
  const PartitionMeasurements& measurements_;
  std::vector<PartitionComparison> comparisons_;
  std::vector<NamedObjective> objectives_ = partition_objectives();
  PartitionTally tally_;
  SpeedErrors errors_;
};

}  // namespace

Result<PartitionMeasurements> load_partition_measurements(const dataset::Dataset& dataset) {
  auto unlimited = dataset::load_group_table(dataset, "pairs");
  if (!unlimited) {
    return tl::unexpected(std::move(unlimited.error()));
  }
  auto partitions = dataset::load_group_table(dataset, "partitions");
  if (!partitions) {
    return tl::unexpected(std::move(partitions.error()));
  }
  auto solo_runs = dataset::load_limited_runs(dataset);
  if (!solo_runs) {
    return tl::unexpected(std::move(solo_runs.error()));
  }
  return PartitionMeasurements{.unlimited = std::move(unlimited->rows),
                               .partitions = std::move(partitions->rows),
                               .solo_runs = std::move(*solo_runs)};
}

Result<PartitionReport> judge_partitions(const dataset::Dataset& dataset,
                                         const PartitionMeasurements& measurements,
                                         const PartitionProtocol& protocol,
                                         const PartitionTrainer& train) {
  PartitionJudge judge(dataset, measurements, protocol);
  if (judge.groups() == 0) {
    return invalid_input(fmt::format(
        "protocol mps-split needs groups that were measured under at least {} MPS partitions each; "
        "table partitions has none",
        protocol.least_partitions));
  }
  PartitionReport report;
  for (const std::uint32_t seed : protocol.seeds) {
    const Folds fold_of = assign_folds(measurements.partitions, protocol.folds, seed);
    for (std::size_t fold = 0; fold < protocol.folds; ++fold) {
      if (auto judged = judge.judge_fold(fold_of, fold, seed, train); !judged) {
        return tl::unexpected(std::move(judged.error()));
      }
      ++report.trials;
      if (protocol.on_progress) {
        protocol.on_progress(fmt::format("seed {}, fold {}", seed, fold + 1));
      }
    }
  }
  report.groups = judge.groups();
  report.results = judge.results();
  report.accuracy = judge.accuracy();
  return report;
}

}  // namespace carpool::evaluate
