#include "model/card.hpp"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace carpool::model {

ModelCard describe_training(std::string_view kind,
                            const TrainingSet& training,
                            std::span<const dataset::GroupRow> rows,
                            const dataset::FeatureSelection& features) {
  const dataset::Dataset& dataset = *training.dataset;
  std::set<std::string> workloads;
  for (const dataset::GroupRow& row : rows) {
    for (const GroupMember& member : row.members) {
      workloads.insert(dataset.profiles[member.profile].workload);
    }
  }
  std::vector<dataset::GroupRow> seen(rows.begin(), rows.end());
  seen.insert(seen.end(), training.partitions.begin(), training.partitions.end());
  ModelCard card{
      .kind = std::string(kind),
      .data_hash = dataset::fingerprint(dataset, seen),
      .dataset = fmt::format("{} ({})", dataset.folder.filename().string(), dataset.info.gpu),
      .throughput_unit = dataset.info.throughput_unit,
      .features = {},
      .workloads = {workloads.begin(), workloads.end()},
      .training_rows = rows.size(),
      .seed = training.seed,
      .holdout_mape = std::nullopt,
      .date = utc_timestamp()};
  for (const dataset::MetricInfo& metric : features.metrics) {
    card.features.push_back(metric.name);
  }
  if (features.exclusive_throughput) {
    card.features.emplace_back("exclusive_thr");
  }
  return card;
}

}  // namespace carpool::model
