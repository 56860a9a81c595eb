// Whole folders: the loaders on files, and the bundled measurements with their published splits.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "dataset/dataset.hpp"
#include "dataset/features.hpp"
#include "dataset/splits.hpp"

namespace carpool::dataset {
namespace {

namespace fs = std::filesystem;

class FolderTest : public testing::Test {
 protected:
  fs::path folder_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
  void SetUp() override {
    fs::create_directories(folder_);
    write("profiles.csv", "workload,exclusive_thr\na,10\nb,20\n");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, std::string_view content) const {
    ASSERT_TRUE(write_file(folder_ / name, content).has_value());
  }
};

TEST_F(FolderTest, ListsGroupTablesAndNothingElse) {
  write("zeta.csv", "w1,w2,thr1,thr2\na,b,1,2\n");
  write("pairs.csv", "w1,w2,thr1,thr2\na,b,1,2\n");
  write("notes.csv", "anything\n1\n");
  write("pairs.txt", "w1,w2,thr1,thr2\na,b,1,2\n");
  fs::create_directories(folder_ / "folder.csv");
  const auto dataset = load_dataset(folder_);
  ASSERT_TRUE(dataset.has_value()) << dataset.error().message;
  EXPECT_EQ(dataset->folder, folder_);
  EXPECT_EQ(list_group_tables(*dataset), (std::vector<std::string>{"pairs", "zeta"}));
  EXPECT_EQ(load_group_table(*dataset, "zeta")->rows.size(), 1U);
}

TEST_F(FolderTest, UnknownTableListsTheTables) {
  write("pairs.csv", "w1,w2,thr1,thr2\na,b,1,2\n");
  const auto dataset = load_dataset(folder_);
  const auto table = load_group_table(*dataset, "triples");
  ASSERT_FALSE(table.has_value());
  EXPECT_EQ(table.error().code, ErrorCode::NotFound);
  EXPECT_EQ(table.error().message, folder_.string() + " has no table \"triples\"; it has pairs");
}

TEST_F(FolderTest, TableNamesAreNoPaths) {
  const auto dataset = load_dataset(folder_);
  for (const char* name : {"../pairs", "a/b", "a\\b", ""}) {
    const auto table = load_group_table(*dataset, name);
    ASSERT_FALSE(table.has_value()) << name;
    EXPECT_EQ(table.error().code, ErrorCode::InvalidInput) << name;
  }
}

TEST_F(FolderTest, MissingFolderAndMissingProfilesAreNotFound) {
  EXPECT_EQ(load_dataset(folder_ / "none").error().code, ErrorCode::NotFound);
  fs::remove(folder_ / "profiles.csv");
  const auto dataset = load_dataset(folder_);
  ASSERT_FALSE(dataset.has_value());
  EXPECT_EQ(dataset.error().code, ErrorCode::NotFound);
  EXPECT_NE(dataset.error().message.find("profiles.csv"), std::string::npos);
}

TEST_F(FolderTest, LimitCurvesAreOptional) {
  const auto dataset = load_dataset(folder_);
  ASSERT_TRUE(load_limited_runs(*dataset).has_value());
  EXPECT_TRUE(load_limited_runs(*dataset)->empty());
}

TEST_F(FolderTest, FingerprintFollowsEveryNumberThatAModelLearnsFrom) {
  write("pairs.csv", "w1,w2,thr1,thr2\na,b,1,2\n");
  const auto dataset = load_dataset(folder_);
  const auto rows = load_group_table(*dataset, "pairs")->rows;
  const std::string base = fingerprint(*dataset, rows);
  EXPECT_EQ(base.size(), 64U);
  EXPECT_EQ(fingerprint(*load_dataset(folder_), rows), base);
  std::set<std::string> seen{base};
  const auto expect_new = [&seen](const std::string& hash) {
    EXPECT_TRUE(seen.insert(hash).second);
  };
  auto changed = rows;
  changed[0].throughput[1] += 1e-12;
  expect_new(fingerprint(*dataset, changed));
  changed = rows;
  changed[0].members[0].thread_limit = 50.0;
  expect_new(fingerprint(*dataset, changed));
  changed = rows;
  std::swap(changed[0].members[0], changed[0].members[1]);
  expect_new(fingerprint(*dataset, changed));
  changed = rows;
  changed[0].campaign = "second";
  expect_new(fingerprint(*dataset, changed));
  expect_new(fingerprint(*dataset, {}));
  Dataset other = *dataset;
  other.profiles[0].metrics["x"] = 1.0;
  expect_new(fingerprint(other, rows));
  other = *dataset;
  other.metrics.push_back({.name = "x", .combine = Combine::Mean, .group = {}});
  expect_new(fingerprint(other, rows));
}

class KaceData : public testing::Test {
 protected:
  Result<Dataset> dataset_ = load_dataset(fs::path(CARPOOL_SOURCE_DIR) / "data" / "kace-v100");
  void SetUp() override { ASSERT_TRUE(dataset_.has_value()) << dataset_.error().message; }

  [[nodiscard]] GroupTable table(std::string_view name) const {
    auto loaded = load_group_table(*dataset_, name);
    EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
    return loaded.value_or(GroupTable{});
  }
  [[nodiscard]] std::vector<Split> splits(const std::string& file,
                                          const GroupTable& of,
                                          const SplitFilter& filter = {}) const {
    auto loaded = load_splits(dataset_->folder / "splits" / file, *dataset_, of, filter);
    EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
    return loaded.value_or(std::vector<Split>{});
  }
};

void expect_same_split(const Split& made, const Split& published) {
  EXPECT_EQ(made.label, published.label);
  EXPECT_EQ(made.fit, published.fit) << made.label;
  EXPECT_EQ(made.holdout, published.holdout) << made.label;
  EXPECT_EQ(made.test, published.test) << made.label;
}

TEST_F(KaceData, DescribesThePublishedWorkloads) {
  EXPECT_EQ(dataset_->profiles.size(), 31U);
  EXPECT_EQ(dataset_->metrics.size(), 17U);
  EXPECT_EQ(dataset_->info.throughput_unit, "samples/s");
  // 341 lines of 44 workloads, of which 217 belong to a profile.
  EXPECT_EQ(load_limited_runs(*dataset_)->size(), 217U);
}

TEST_F(KaceData, HoldsThePublishedTables) {
  const auto names = list_group_tables(*dataset_);
  const std::set<std::string> listed(names.begin(), names.end());
  const std::map<std::string, std::size_t> expected{{"gpt2xl_pairs", 257},
                                                    {"pairs", 181},
                                                    {"quads", 1108},
                                                    {"quads_batch4", 881},
                                                    {"triples", 400}};
  for (const auto& [name, rows] : expected) {
    EXPECT_TRUE(listed.contains(name)) << name;
    EXPECT_EQ(table(name).rows.size(), rows) << name;
  }
  EXPECT_EQ(table("quads").group_size, 4U);
}

TEST_F(KaceData, FeatureGroupsAreThoseOfThePaper) {
  // 6 kernel metrics, 3 system metrics, and the solo throughput; Xu et al.: 10 without it.
  EXPECT_EQ(select_features(*dataset_, "default")->size(), 10U);
  EXPECT_EQ(select_features(*dataset_, "kernel")->size(), 7U);
  EXPECT_EQ(select_features(*dataset_, "system")->size(), 4U);
  EXPECT_EQ(select_features(*dataset_, "xu")->size(), 10U);
  EXPECT_EQ(select_features(*dataset_, "default+xu")->size(), 18U);
}

TEST_F(KaceData, EveryPublishedPairSplitIsRegeneratedFromItsSeedRowForRow) {
  const GroupTable pairs = table("pairs");
  std::size_t compared = 0;
  for (int n_occur = 2; n_occur <= 10; ++n_occur) {
    std::uint32_t seed = 10;
    for (const Split& published : splits("pairs_n_occur.csv", pairs, {.n_occur = n_occur})) {
      expect_same_split(n_occur_split(pairs, n_occur, seed), published);
      seed += 10;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 45U);
}

TEST_F(KaceData, TripleSplitsHoldTheirShareOfTheRows) {
  const GroupTable triples = table("triples");
  EXPECT_EQ(splits("triples_trainratio.csv", triples).size(), 27U);
  const auto tenth = splits("triples_trainratio.csv", triples, {.train_ratio = 0.1});
  ASSERT_EQ(tenth.size(), 3U);
  EXPECT_EQ(tenth[0].label, "train_ratio 0.1, seed 10");
  EXPECT_EQ(tenth[0].training().size(), 40U);
  EXPECT_EQ(tenth[0].test.size(), 360U);
}

// A table of only the rows that a split names, and the splits as positions in it.
GroupTable rows_of_splits(const GroupTable& whole, std::vector<Split>& splits) {
  std::set<std::size_t> used;
  for (const Split& split : splits) {
    const auto training = split.training();
    used.insert(training.begin(), training.end());
    used.insert(split.test.begin(), split.test.end());
  }
  GroupTable part{.name = whole.name, .group_size = whole.group_size, .rows = {}};
  std::map<std::size_t, std::size_t> position;
  for (const std::size_t row : used) {
    position[row] = part.rows.size();
    part.rows.push_back(whole.rows[row]);
  }
  for (Split& split : splits) {
    for (auto* const list : {&split.fit, &split.holdout, &split.test}) {
      std::transform(list->begin(), list->end(), list->begin(), [&position](std::size_t row) {
        return position.at(row);
      });
    }
  }
  return part;
}

std::vector<std::size_t> sorted(std::vector<std::size_t> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

void expect_same_rows(const Split& made, const Split& published) {
  EXPECT_EQ(sorted(made.test), sorted(published.test)) << made.label;
  EXPECT_EQ(sorted(made.training()), sorted(published.training())) << made.label;
}

// The 506 quads of the published score are what the split file names; all other tables are whole.
class UnseenSplits : public KaceData,
                     public testing::WithParamInterface<std::pair<const char*, std::size_t>> {};

TEST_P(UnseenSplits, AreTheLeaveOneOutRule) {
  const auto [name, rows] = GetParam();
  const GroupTable whole = table(name);
  auto published = splits("unseen.csv", whole);
  const GroupTable used = rows_of_splits(whole, published);
  EXPECT_EQ(used.rows.size(), rows);
  const auto made = leave_one_out_splits(*dataset_, used);
  for (const Split& split : published) {
    const auto same = std::find_if(
        made.begin(), made.end(), [&](const Split& one) { return one.target == split.target; });
    ASSERT_NE(same, made.end()) << split.label;
    expect_same_rows(*same, split);
    // The 506 quads came in another order, which decides what is held out.
    if (used.rows.size() == whole.rows.size()) {
      expect_same_split(*same, split);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables,
                         UnseenSplits,
                         testing::Values(std::pair{"pairs", 181},
                                         std::pair{"triples", 400},
                                         std::pair{"quads", 506},
                                         std::pair{"quads_batch4", 881},
                                         std::pair{"gpt2xl_pairs", 257}),
                         [](const auto& row) { return std::string(row.param.first); });

}  // namespace
}  // namespace carpool::dataset
