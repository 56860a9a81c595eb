#include "dataset/splits.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "dataset/parse.hpp"

namespace carpool::dataset {
namespace {

// Workloads a1, a2 (one model and task), b, c; every pair of them once, and a1+b twice.
struct Sample {
  Dataset dataset;
  GroupTable table;
};

Sample made_sample() {
  Sample made;
  for (const auto& [name, model] : {std::pair{"a1", "a"}, {"a2", "a"}, {"b", "b"}, {"c", ""}}) {
    Profile profile;
    profile.workload = name;
    profile.model = model;
    profile.task = "inf";
    profile.exclusive_throughput = 1.0;
    made.dataset.profiles.push_back(profile);
  }
  made.table.name = "pairs";
  made.table.group_size = 2;
  const auto add = [&made](std::size_t first, std::size_t second) {
    made.table.rows.push_back({.id = 100 + static_cast<std::int64_t>(made.table.rows.size()),
                               .members = {{.profile = first}, {.profile = second}},
                               .throughput = {1.0, 1.0}});
  };
  for (std::size_t first = 0; first < 4; ++first) {
    for (std::size_t second = first; second < 4; ++second) {
      add(first, second);
    }
  }
  add(2, 0);
  return made;
}

std::string error_of(std::string_view text, const SplitFilter& filter = {}) {
  const Sample made = made_sample();
  const auto splits = parse_splits(text, "s/split.csv", made.dataset, made.table, filter);
  return splits ? "" : splits.error().message;
}

void expect_partition(const Split& split, std::size_t rows) {
  std::multiset<std::size_t> seen(split.test.begin(), split.test.end());
  const auto training = split.training();
  seen.insert(training.begin(), training.end());
  EXPECT_EQ(seen.size(), rows);
  EXPECT_EQ(std::set<std::size_t>(seen.begin(), seen.end()).size(), rows);
}

TEST(SplitFile, GroupsRowsBySizeAndSeedInTheOrderOfTheFile) {
  const Sample made = made_sample();
  const std::string text =
      "n_occur,seed,pair_id,role\n2,20,103,fit\n2,20,100,test\n2,10,101,fit\n2,20,101,fit\n"
      "2,20,102,holdout\n2,10,100,test\n3,10,100,fit\n3,10,101,test\n";
  const auto all = parse_splits(text, "s.csv", made.dataset, made.table, {});
  ASSERT_TRUE(all.has_value()) << all.error().message;
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[0].label, "n_occur 2, seed 20");
  EXPECT_EQ((*all)[0].fit, (std::vector<std::size_t>{3, 1}));
  EXPECT_EQ((*all)[0].holdout, (std::vector<std::size_t>{2}));
  EXPECT_EQ((*all)[0].training(), (std::vector<std::size_t>{3, 1, 2}));
  EXPECT_EQ((*all)[0].test, (std::vector<std::size_t>{0}));
  EXPECT_FALSE((*all)[0].target.has_value());
  const auto three = parse_splits(text, "s.csv", made.dataset, made.table, {.n_occur = 3});
  ASSERT_TRUE(three.has_value());
  ASSERT_EQ(three->size(), 1U);
  EXPECT_EQ(three->front().label, "n_occur 3, seed 10");
}

TEST(SplitFile, TargetsAreLookedUpAndOtherTablesPassedOver) {
  const Sample made = made_sample();
  const auto splits = parse_splits(
      "table,target,row_id,role\npairs,b,100,fit\ntriples,zzz,9999,fit\npairs,b,102,test\n",
      "s.csv",
      made.dataset,
      made.table,
      {});
  ASSERT_TRUE(splits.has_value()) << splits.error().message;
  ASSERT_EQ(splits->size(), 1U);
  EXPECT_EQ(splits->front().label, "target b");
  EXPECT_EQ(splits->front().target, 2U);
}

TEST(SplitFile, RatioIsFilteredAndABareFileIsOneSplit) {
  const Sample made = made_sample();
  const auto ratio = parse_splits(
      "train_ratio,seed,triple_id,role\n0.1,1,100,fit\n0.1,1,101,test\n0.2,1,100,fit\n",
      "s.csv",
      made.dataset,
      made.table,
      {.train_ratio = 0.1});
  ASSERT_TRUE(ratio.has_value()) << ratio.error().message;
  ASSERT_EQ(ratio->size(), 1U);
  EXPECT_EQ(ratio->front().label, "train_ratio 0.1, seed 1");
  const auto bare =
      parse_splits("row_id,role\n100,fit\n101,test\n", "s/mine.csv", made.dataset, made.table, {});
  ASSERT_TRUE(bare.has_value()) << bare.error().message;
  ASSERT_EQ(bare->size(), 1U);
  EXPECT_EQ(bare->front().label, "mine");
}

TEST(SplitFile, ErrorsNameFileLineAndColumn) {
  const std::string head = "n_occur,seed,row_id,role\n";
  EXPECT_EQ(error_of(head + "2,10,100,train\n"),
            "s/split.csv:2: column role: \"train\" is not a role; expected fit, holdout or test");
  EXPECT_EQ(error_of(head + "2,10,7,fit\n"),
            "s/split.csv:2: column row_id: 7 is not an id of pairs");
  EXPECT_EQ(error_of(head + "2,10,x,fit\n"),
            "s/split.csv:2: column row_id: \"x\" is not the id of a row, a whole number");
  EXPECT_EQ(error_of(head + "0,10,100,fit\n"),
            "s/split.csv:2: column n_occur: \"0\" is not a whole number of at least 1");
  EXPECT_EQ(error_of(head + "2,a,100,fit\n"),
            "s/split.csv:2: column seed: \"a\" is not a seed, a whole number");
  EXPECT_EQ(
      error_of(head + "2,10,100,fit\n2,10,100,test\n"),
      "s/split.csv:3: column row_id: 100 is already in split \"n_occur 2, seed 10\", on line 2");
  EXPECT_EQ(error_of(head + "2,10,100,fit\n"),
            "s/split.csv: split \"n_occur 2, seed 10\" has no row of role test");
  EXPECT_EQ(error_of(head + "2,10,100,test\n"),
            "s/split.csv: split \"n_occur 2, seed 10\" has no row of role fit");
  EXPECT_EQ(error_of("target,row_id,role\nd,100,fit\n").find("s/split.csv:2: column target: \"d\""),
            0U);
  EXPECT_EQ(
      error_of("train_ratio,row_id,role\nx,100,fit\n").find("s/split.csv:2: column train_ratio"),
      0U);
}

TEST(SplitFile, WrongColumnsAndFiltersAreRefused) {
  EXPECT_EQ(error_of("row_id\n100\n").find("s/split.csv:1: column role is missing"), 0U);
  EXPECT_EQ(
      error_of("role\nfit\n"),
      "s/split.csv:1: none of the columns row_id, pair_id and triple_id; expected one of them");
  EXPECT_EQ(error_of("role,row_id,pair_id\nfit,100,100\n").find("s/split.csv:1: several"), 0U);
  EXPECT_EQ(error_of("role,row_id\nfit,100\n", {.n_occur = 3}),
            "s/split.csv:1: the file has no column n_occur, which the request names");
  EXPECT_EQ(error_of("n_occur,role,row_id\n2,fit,100\n", {.n_occur = 3}),
            "s/split.csv: no split of table pairs matches the request; the file has n_occur 2");
  EXPECT_EQ(error_of("table,role,row_id\nquads,fit,100\n"),
            "s/split.csv: no split of table pairs matches the request; the file has no row of that "
            "table");
}

TEST(NOccurSplit, TrainsUntilEachMemberWasTakenOftenEnoughAndNeverOnEqualMembers) {
  const Sample made = made_sample();
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Split split = n_occur_split(made.table, 2, seed);
    expect_partition(split, made.table.rows.size());
    std::vector<int> taken(4);
    for (const std::size_t position : split.training()) {
      const Group& members = made.table.rows[position].members;
      EXPECT_NE(members[0].profile, members[1].profile);
      ++taken[members[0].profile];
      ++taken[members[1].profile];
    }
    EXPECT_TRUE(std::all_of(taken.begin(), taken.end(), [](int count) { return count >= 2; }));
  }
}

TEST(RandomSplit, KeepsEqualGroupsTogether) {
  const Sample made = made_sample();
  const std::size_t again = made.table.rows.size() - 1;  // b+a1, as row 2 (a1+b)
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Split split = random_split(made.table, 0.5, seed);
    expect_partition(split, made.table.rows.size());
    const auto tested = [&split](std::size_t row) {
      return std::find(split.test.begin(), split.test.end(), row) != split.test.end();
    };
    EXPECT_EQ(tested(2), tested(again));
    const std::size_t sets = split.test.size() - (tested(again) ? 1 : 0);
    EXPECT_EQ(sets, 5U) << "half of ten different groups";
  }
}

TEST(RandomSplit, IsDecidedByTheSeed) {
  const Sample made = made_sample();
  std::set<std::vector<std::size_t>> different;
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Split split = random_split(made.table, 0.5, seed);
    EXPECT_EQ(random_split(made.table, 0.5, seed).fit, split.fit);
    different.insert(split.test);
  }
  EXPECT_GT(different.size(), 40U);
}

TEST(RandomSplit, LeavesSomethingOnEachSideWhateverTheFraction) {
  const Sample made = made_sample();
  for (const double fraction : {-1.0, 0.0, 1e-9, 1.0, 5.0}) {
    const Split split = random_split(made.table, fraction, 1);
    EXPECT_FALSE(split.fit.empty()) << fraction;
    EXPECT_FALSE(split.test.empty()) << fraction;
    expect_partition(split, made.table.rows.size());
  }
}

TEST(LeaveOneOut, TestsTheTargetAndTrainsWithoutItsRelatives) {
  const Sample made = made_sample();
  const auto splits = leave_one_out_splits(made.dataset, made.table);
  ASSERT_EQ(splits.size(), 4U);
  // Rows: 0 a1a1, 1 a1a2, 2 a1b, 3 a1c, 4 a2a2, 5 a2b, 6 a2c, 7 bb, 8 bc, 9 cc, 10 ba1.
  const Split& a1 = splits[0];
  EXPECT_EQ(a1.label, "target a1");
  EXPECT_EQ(a1.target, 0U);
  EXPECT_EQ(a1.test, (std::vector<std::size_t>{0, 1, 2, 3, 10}));
  const auto training = a1.training();
  EXPECT_EQ(std::set<std::size_t>(training.begin(), training.end()),
            (std::set<std::size_t>{7, 8, 9}));
  // c names no model: nothing but itself is left out.
  EXPECT_EQ(splits[3].test, (std::vector<std::size_t>{3, 6, 8, 9}));
  EXPECT_EQ(splits[3].training().size(), 7U);
}

TEST(LeaveOneOut, AWorkloadWithoutTestOrTrainingRowsHasNoSplit) {
  Sample made = made_sample();
  made.table.rows.resize(2);  // a1+a1, a1+a2
  EXPECT_TRUE(leave_one_out_splits(made.dataset, made.table).empty());
  made.table.rows.push_back(made_sample().table.rows[7]);  // b+b
  const auto splits = leave_one_out_splits(made.dataset, made.table);
  ASSERT_EQ(splits.size(), 3U);
  EXPECT_EQ(splits[0].fit, (std::vector<std::size_t>{2}))
      << "one training row is fitted, not held out";
}

}  // namespace
}  // namespace carpool::dataset
