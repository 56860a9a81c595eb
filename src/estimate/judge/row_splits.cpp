#include "estimate/judge/row_splits.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>

#include "base/numpy_random.hpp"
#include "base/text/names.hpp"

namespace carpool::estimate {
namespace {

constexpr std::size_t kFolds = 10;
constexpr std::uint32_t kShuffles = 3;
constexpr std::uint32_t kPublishedSeed = 42;
constexpr double kPublishedRest = 0.3;         // share of the rows that are not trained on
constexpr double kPublishedValidation = 0.66;  // of the rest

std::vector<RowFold> published(const std::vector<MeasuredJob>& rows) {
  const HoldOut outer = train_test_split(rows.size(), kPublishedRest, kPublishedSeed);
  const HoldOut inner = train_test_split(outer.test.size(), kPublishedValidation, kPublishedSeed);
  RowFold fold{.train = outer.train};
  // The published code tests on the smaller part and validates on the larger.
  for (const std::size_t index : inner.train) {
    fold.test.push_back(outer.test[index]);
  }
  for (const std::size_t index : inner.test) {
    fold.calibration.push_back(outer.test[index]);
  }
  return {fold};
}

std::map<std::string, std::vector<std::size_t>> by_group(const std::vector<MeasuredJob>& rows) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t index = 0; index < rows.size(); ++index) {
    groups[rows[index].group].push_back(index);
  }
  return groups;
}

// Every part is tested once, with all others to train on.
std::vector<RowFold> leave_each_out(const std::vector<std::vector<std::size_t>>& parts) {
  std::vector<RowFold> folds;
  for (const auto& held_out : parts) {
    if (held_out.empty()) {
      continue;
    }
    RowFold fold{.test = held_out};
    for (const auto& part : parts) {
      if (&part != &held_out) {
        fold.train.insert(fold.train.end(), part.begin(), part.end());
      }
    }
    std::ranges::sort(fold.train);
    folds.push_back(std::move(fold));
  }
  return folds;
}

std::vector<RowFold> by_names(const std::vector<MeasuredJob>& rows) {
  const auto groups = by_group(rows);
  std::vector<const std::vector<std::size_t>*> members;
  members.reserve(groups.size());
  for (const auto& [name, group] : groups) {
    members.push_back(&group);
  }
  std::vector<RowFold> folds;
  for (std::uint32_t shuffle = 0; shuffle < kShuffles; ++shuffle) {
    NumpyRandom random(shuffle);
    const auto order = random.permutation(members.size());
    std::vector<std::vector<std::size_t>> parts(kFolds);
    for (std::size_t place = 0; place < order.size(); ++place) {
      auto& part = parts[place % kFolds];
      part.insert(part.end(), members[order[place]]->begin(), members[order[place]]->end());
    }
    for (RowFold& fold : leave_each_out(parts)) {
      folds.push_back(std::move(fold));
    }
  }
  return folds;
}

std::vector<RowFold> one_name_out(const std::vector<MeasuredJob>& rows) {
  std::vector<std::vector<std::size_t>> parts;
  for (const auto& [name, group] : by_group(rows)) {
    parts.push_back(group);
  }
  return leave_each_out(parts);
}

std::vector<RowFold> in_sample(const std::vector<MeasuredJob>& rows) {
  RowFold fold;
  fold.train.resize(rows.size());
  std::iota(fold.train.begin(), fold.train.end(), std::size_t{0});
  fold.test = fold.train;
  return {fold};
}

constexpr auto kSplitKinds = std::to_array<RowSplitKind>({
    {"names", "ten folds of model names, three shuffles (default)", by_names},
    {"published", "70 / 19.8 / 10.2 % of the rows, seed 42, as GPUMemNet", published},
    {"leave-one-out", "each model name in turn", one_name_out},
    {"in-sample", "fitted and evaluated on all rows: a check, not a test", in_sample},
});

}  // namespace

std::span<const RowSplitKind> row_split_kinds() {
  return kSplitKinds;
}

Result<const RowSplitKind*> find_row_split(std::string_view name) {
  return find_named(row_split_kinds(), "train/test split", name);
}

}  // namespace carpool::estimate
