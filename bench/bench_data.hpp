// The measurements that all cases use.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "dataset/features.hpp"
#include "model/throughput_model.hpp"

namespace carpool {

// One published train/test split of the pairs.
struct BenchSplit {
  std::string name;  // "n3": n_occur 3, seed 10
  std::vector<dataset::GroupRow> training;
  std::size_t fit_rows = 0;  // number of rows of `training`, from its start
  std::vector<dataset::GroupRow> test;
};

struct BenchData {
  dataset::Dataset dataset;
  dataset::GroupTable pairs;
  dataset::FeatureSelection features;
  std::vector<BenchSplit> splits;       // n3, n10
  std::vector<std::size_t> candidates;  // profiles of the workloads in `pairs`, ascending

  [[nodiscard]] model::TrainingSet training_set(const BenchSplit& split) const;
  [[nodiscard]] model::TrainingSet all_pairs() const;
};

[[nodiscard]] Result<BenchData> load_bench_data(const std::filesystem::path& folder);

}  // namespace carpool
