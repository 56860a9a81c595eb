// Any bytes as a file of a dataset folder: each parser returns a valid value or an error, and the
// same result twice. The first byte selects the file: t dataset.toml, p profiles, g group table, m
// limit curves, s splits.
#include <string_view>

#include "dataset/features.hpp"
#include "dataset/parse.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

const dataset::Dataset& known_dataset() {
  static const dataset::Dataset dataset = *dataset::parse_profiles(
      "workload,model,exclusive_thr,x,busy_pct\na,m,10,1,50\nb,m,20,,60\nc,,30,3,\n",
      "profiles.csv",
      dataset::DatasetSettings{});
  return dataset;
}

const dataset::GroupTable& known_table() {
  static const dataset::GroupTable table =
      *dataset::parse_group_table("w1,w2,thr1,thr2\na,b,1,2\na,c,3,4\nb,c,5,6\na,a,7,8\n",
                                  "pairs.csv",
                                  known_dataset(),
                                  "pairs");
  return table;
}

void feed_profiles(std::string_view text) {
  const auto dataset = dataset::parse_profiles(text, "profiles.csv", dataset::DatasetSettings{});
  require_message(dataset);
  if (!dataset) {
    return;
  }
  require(!dataset->profiles.empty());
  for (std::size_t i = 0; i < dataset->profiles.size(); ++i) {
    require(dataset->profiles[i].exclusive_throughput > 0.0);
    require(dataset->find(dataset->profiles[i].workload) == i);
  }
  const auto selection = dataset::select_features(*dataset, "default");
  require(selection.has_value());
  const Eigen::MatrixXd features = dataset::member_features(*selection, dataset->profiles);
  require(features.rows() == static_cast<Eigen::Index>(dataset->profiles.size()));
  require(dataset::fingerprint(*dataset, {}) ==
          dataset::fingerprint(
              *dataset::parse_profiles(text, "profiles.csv", dataset::DatasetSettings{}), {}));
}

void feed_toml(std::string_view text) {
  const auto settings = dataset::parse_dataset_toml(text, "dataset.toml");
  require_message(settings);
  if (settings) {
    require_message(dataset::parse_profiles(
        "workload,exclusive_thr,x,y\na,1,2,3\nb,1,,high\n", "profiles.csv", *settings));
  }
}

void feed_group_table(std::string_view text) {
  const auto table = dataset::parse_group_table(text, "pairs.csv", known_dataset(), "pairs");
  require_message(table);
  if (!table) {
    return;
  }
  require(table->group_size >= 2 && !table->rows.empty());
  for (const dataset::GroupRow& row : table->rows) {
    require(row.members.size() == table->group_size);
    require(row.throughput.size() == table->group_size);
    require(row.sum() >= 0.0 && row.contains(row.members.front().profile));
  }
  for (const dataset::Split& split :
       {dataset::n_occur_split(*table, 2, 1), dataset::random_split(*table, 0.5, 1)}) {
    require(split.training().size() + split.test.size() == table->rows.size());
  }
  (void)dataset::leave_one_out_splits(known_dataset(), *table);
}

void feed_splits(std::string_view text) {
  for (const dataset::SplitFilter& filter : {dataset::SplitFilter{},
                                             dataset::SplitFilter{.n_occur = 2},
                                             dataset::SplitFilter{.train_ratio = 0.5}}) {
    const auto splits =
        dataset::parse_splits(text, "splits/s.csv", known_dataset(), known_table(), filter);
    require_message(splits);
    for (const dataset::Split& split : splits.value_or(std::vector<dataset::Split>{})) {
      const std::size_t rows = split.training().size() + split.test.size();
      require(!split.fit.empty() && !split.test.empty() && rows <= known_table().rows.size());
    }
  }
}

}  // namespace

void feed_dataset(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::string_view text = bytes.substr(1);
  switch (bytes.front()) {
    case 't':
      feed_toml(text);
      break;
    case 'p':
      feed_profiles(text);
      break;
    case 'g':
      feed_group_table(text);
      break;
    case 'm':
      require_message(dataset::parse_limited_runs(text, "exclusive_mps.csv", known_dataset()));
      break;
    case 's':
      feed_splits(text);
      break;
    default:
      break;
  }
}

}  // namespace carpool::fuzz
