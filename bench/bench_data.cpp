#include "bench_data.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "dataset/splits.hpp"

namespace carpool {
namespace {

constexpr int kSeed = 10;

std::vector<dataset::GroupRow> rows_at(const dataset::GroupTable& table,
                                       const std::vector<std::size_t>& positions) {
  std::vector<dataset::GroupRow> rows;
  rows.reserve(positions.size());
  for (const std::size_t position : positions) {
    rows.push_back(table.rows[position]);
  }
  return rows;
}

Result<BenchSplit> load_split(const BenchData& data, int n_occur) {
  const auto splits = dataset::load_splits(data.dataset.folder / "splits" / "pairs_n_occur.csv",
                                           data.dataset,
                                           data.pairs,
                                           {.n_occur = n_occur});
  if (!splits) {
    return tl::unexpected(splits.error());
  }
  const std::string label = fmt::format("n_occur {}, seed {}", n_occur, kSeed);
  for (const dataset::Split& split : *splits) {
    if (split.label == label) {
      return BenchSplit{.name = fmt::format("n{}", n_occur),
                        .training = rows_at(data.pairs, split.training()),
                        .fit_rows = split.fit.size(),
                        .test = rows_at(data.pairs, split.test)};
    }
  }
  return fail(ErrorCode::NotFound, "the dataset has no split " + label);
}

}  // namespace

model::TrainingSet BenchData::training_set(const BenchSplit& split) const {
  model::TrainingSet training;
  training.dataset = &dataset;
  training.rows = split.training;
  training.fit_rows = split.fit_rows;
  return training;
}

model::TrainingSet BenchData::all_pairs() const {
  model::TrainingSet training;
  training.dataset = &dataset;
  training.rows = pairs.rows;
  training.fit_rows = pairs.rows.size();
  return training;
}

Result<BenchData> load_bench_data(const std::filesystem::path& folder) {
  BenchData data;
  auto dataset = dataset::load_dataset(folder);
  if (!dataset) {
    return tl::unexpected(dataset.error());
  }
  data.dataset = *std::move(dataset);
  auto pairs = dataset::load_group_table(data.dataset, "pairs");
  if (!pairs) {
    return tl::unexpected(pairs.error());
  }
  data.pairs = *std::move(pairs);
  auto features = dataset::select_features(data.dataset, "default");
  if (!features) {
    return tl::unexpected(features.error());
  }
  data.features = *std::move(features);
  for (const int n_occur : {3, 10}) {
    auto split = load_split(data, n_occur);
    if (!split) {
      return tl::unexpected(split.error());
    }
    data.splits.push_back(*std::move(split));
  }
  std::set<std::size_t> members;
  for (const dataset::GroupRow& row : data.pairs.rows) {
    for (const GroupMember& member : row.members) {
      members.insert(member.profile);
    }
  }
  data.candidates.assign(members.begin(), members.end());
  return data;
}

}  // namespace carpool
