// Train/test splits: the rows that a model may use, and the rows that it is tested on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/dataset.hpp"

namespace carpool::dataset {

// Positions into GroupTable::rows.
struct Split {
  std::string label;                 // "n_occur 3, seed 10"
  std::vector<std::size_t> fit;      // what the published procedure fits on, in its order
  std::vector<std::size_t> holdout;  // training rows that it does not use
  std::vector<std::size_t> test;
  std::optional<std::size_t> target;  // profile; set: only this workload is scored

  [[nodiscard]] std::vector<std::size_t> training() const;  // fit, then holdout
};

// The functions below divide training rows into fit and holdout as the published
// trainer does: scikit-learn's train_test_split(test_size=0.2, random_state=30).

// A split file: `role`, a row key (row_id, pair_id or triple_id), and n_occur or train_ratio with
// seed, or target, optionally table. Empty conditions take every split of the file; rows of other
// tables are skipped. Every key must be an id of the table. Splits come in the order of the
// file, and so do the rows within a role.
struct SplitFilter {
  std::optional<int> n_occur = std::nullopt;
  std::optional<double> train_ratio = std::nullopt;
};
[[nodiscard]] Result<std::vector<Split>> load_splits(const std::filesystem::path& file,
                                                     const Dataset& dataset,
                                                     const GroupTable& table,
                                                     const SplitFilter& filter);

// The published rule: in the order of permutation(seed) of NumPy, a row whose members are not all
// equal goes to training if some member has been taken fewer than n_occur times. All other rows are
// test rows.
[[nodiscard]] Split n_occur_split(const GroupTable& table, int n_occur, std::uint32_t seed);

// A random share of the rows trains, the rest tests. Rows of the same members stay on one side.
// Each side gets at least one row where the table has two different groups.
[[nodiscard]] Split random_split(const GroupTable& table,
                                 double train_fraction,
                                 std::uint32_t seed);

// One split per workload: test = rows with that workload, training = rows without it and without
// any workload of the same model and task (where the dataset names them). A workload that leaves
// no row to test or to train on has no split.
[[nodiscard]] std::vector<Split> leave_one_out_splits(const Dataset& dataset,
                                                      const GroupTable& table);

}  // namespace carpool::dataset
