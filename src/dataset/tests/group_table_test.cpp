#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/text/names.hpp"
#include "dataset/parse.hpp"

namespace carpool::dataset {
namespace {

Dataset two_workloads() {
  Dataset dataset;
  dataset.profiles = {{.workload = "bert-train",
                       .model = {},
                       .task = {},
                       .batch = {},
                       .exclusive_throughput = 10.0,
                       .metrics = {}},
                      {.workload = "vit-inf",
                       .model = {},
                       .task = {},
                       .batch = {},
                       .exclusive_throughput = 20.0,
                       .metrics = {}}};
  return dataset;
}

std::string table_error(std::string_view csv) {
  const auto table = parse_group_table(csv, "d/pairs.csv", two_workloads(), "pairs");
  return table ? "" : table.error().message;
}

TEST(GroupTable, ReadsMembersLimitsAndThroughputs) {
  const auto table = parse_group_table(
      "id,w1,w2,thr1,thr2,thr_sum,pct1,pct2,repeat,campaign,comment\n"
      "17,vit-inf,bert-train,5,2.5,7.5,30,,1,0505,x\n"
      "4,vit-inf,vit-inf,0,1,1,100,100,2,,\n",
      "d/pairs.csv",
      two_workloads(),
      "pairs");
  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_EQ(table->name, "pairs");
  EXPECT_EQ(table->group_size, 2U);
  ASSERT_EQ(table->rows.size(), 2U);
  const GroupRow& row = table->rows[0];
  EXPECT_EQ(row.id, 17);
  EXPECT_EQ(row.members[0].profile, 1U);
  EXPECT_EQ(row.members[0].thread_limit, 30.0);
  EXPECT_EQ(row.members[1].profile, 0U);
  EXPECT_EQ(row.members[1].thread_limit, kAllThreads);
  EXPECT_EQ(row.sum(), 7.5);
  EXPECT_EQ(row.campaign, "0505");
  EXPECT_EQ(table->rows[1].campaign, "");
  EXPECT_TRUE(row.contains(0));
  EXPECT_FALSE(table->rows[1].contains(0));
}

TEST(GroupTable, WithoutIdsRowsAreNumberedFromZero) {
  const auto table = parse_group_table(
      "thr3,w3,thr2,w2,thr1,w1\n1,vit-inf,2,vit-inf,3,bert-train\n4,vit-inf,5,vit-inf,6,vit-inf\n",
      "d/t.csv",
      two_workloads(),
      "t");
  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_EQ(table->group_size, 3U);
  EXPECT_EQ(table->rows[1].id, 1);
  EXPECT_EQ(table->rows[0].members[0].profile, 0U);
  EXPECT_EQ(table->rows[0].throughput, (std::vector<double>{3.0, 2.0, 1.0}));
}

TEST(GroupTable, BadHeadersAreRefused) {
  EXPECT_EQ(
      table_error("a,b\n1,2\n"),
      "d/pairs.csv:1: not a group table; expected columns w1, w2, … and thr1, thr2, …, found a, "
      "b");
  EXPECT_EQ(table_error("w1,thr1\nvit-inf,2\n").find("d/pairs.csv:1: not a group table"), 0U);
  EXPECT_EQ(table_error("w1,w2,thr1\nvit-inf,vit-inf,2\n"),
            "d/pairs.csv:1: column thr2 is missing; found w1, w2, thr1");
  EXPECT_EQ(table_error("w1,w3,thr1,thr3\nvit-inf,vit-inf,1,1\n"),
            "d/pairs.csv:1: column w2 is missing; found w1, w3, thr1, thr3");
  EXPECT_EQ(
      table_error("w1,w2,thr1,thr2,thr3\nvit-inf,vit-inf,1,1,1\n").find("d/pairs.csv:1: column w3"),
      0U);
  EXPECT_EQ(
      table_error("w1,w2,thr1,thr2,pct3\nvit-inf,vit-inf,1,1,1\n").find("d/pairs.csv:1: column w3"),
      0U);
  EXPECT_EQ(table_error("w1,w99999999999999,thr1,thr2\n").find("d/pairs.csv:1: column w2"), 0U);
  EXPECT_EQ(table_error("w1,w2,thr1,thr2\n"),
            "d/pairs.csv:1: no rows after the header; expected one per measured group");
}

// The error for one row of a table of pairs, without the name of the file.
std::string row_error(std::string_view rows) {
  std::string text = "id,w1,w2,thr1,thr2,pct2,repeat\n";
  text += rows;
  const std::string message = table_error(text);
  const std::string_view file = "d/pairs.csv:";
  EXPECT_TRUE(message.starts_with(file)) << message;
  return message.substr(std::min(file.size(), message.size()));
}

TEST(GroupTable, AnUnknownWorkloadIsRefusedWithTheNearestName) {
  EXPECT_EQ(row_error("0,vit-inf,bert-trian,1,1,,0\n"),
            "2: column w2: \"bert-trian\" is not a workload of profiles.csv; did you mean "
            "\"bert-train\"?");
}

TEST(GroupTable, ThroughputsMustBeFiniteAndNotNegative) {
  EXPECT_EQ(row_error("0,vit-inf,bert-train,1,abc,,0\n"),
            "2: column thr2: \"abc\" is not a number; expected a throughput in units/s");
  EXPECT_EQ(row_error("0,vit-inf,bert-train,1,-0.5,,0\n"),
            "2: column thr2: \"-0.5\" is negative; expected a throughput in units/s");
  EXPECT_EQ(row_error("0,vit-inf,bert-train,nan,1,,0\n"),
            "2: column thr1: \"nan\" is not a number; expected a throughput in units/s");
  EXPECT_EQ(row_error("0,vit-inf,bert-train,,1,,0\n"),
            "2: column thr1: \"\" is not a number; expected a throughput in units/s");
}

TEST(GroupTable, ThreadLimitsLieAboveZeroAndUpToAHundred) {
  constexpr std::string_view kWhy = "is not a thread limit in percent, above 0 and at most 100";
  EXPECT_EQ(row_error("0,vit-inf,vit-inf,1,1,0,0\n"),
            fmt::format("2: column pct2: \"0\" {}", kWhy));
  EXPECT_EQ(row_error("0,vit-inf,vit-inf,1,1,-9,0\n"),
            fmt::format("2: column pct2: \"-9\" {}", kWhy));
  EXPECT_EQ(row_error("0,vit-inf,vit-inf,1,1,101,0\n"),
            fmt::format("2: column pct2: \"101\" {}", kWhy));
}

TEST(GroupTable, IdsAreUniqueWholeNumbers) {
  EXPECT_EQ(row_error("0,vit-inf,bert-train,1,1,,0\n0,vit-inf,vit-inf,1,1,,0\n"),
            "3: column id: 0 is already the id of line 2");
  EXPECT_EQ(row_error("1.5,vit-inf,bert-train,1,1,,0\n"),
            "2: column id: \"1.5\" is not a whole number");
  EXPECT_EQ(row_error("1,vit-inf,bert-train,1,1,,first\n"),
            "2: column repeat: \"first\" is not a whole number");
}

TEST(GroupTable, HeaderTellsWhetherAFileIsOne) {
  EXPECT_TRUE(is_group_table_header("id,w1,w2,thr1,thr2,thr_sum\r"));
  EXPECT_FALSE(is_group_table_header("workload,exclusive_thr"));
  EXPECT_FALSE(is_group_table_header("w1,w2,thr1"));
  EXPECT_FALSE(is_group_table_header(""));
}

TEST(LimitedRuns, WorkloadsWithoutProfileArePassedOverButCheckedForForm) {
  const auto runs = parse_limited_runs(
      "workload,mps_pct,thr\nresnet,50,1\nvit-inf,30,6.5\n", "d/e.csv", two_workloads());
  ASSERT_TRUE(runs.has_value()) << runs.error().message;
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().profile, 1U);
  EXPECT_EQ(runs->front().thread_limit, 30.0);
  EXPECT_EQ(runs->front().throughput, 6.5);
  const auto bad =
      parse_limited_runs("workload,mps_pct,thr\nresnet,0,1\n", "d/e.csv", two_workloads());
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(
      bad.error().message,
      "d/e.csv:2: column mps_pct: \"0\" is not a thread limit in percent, above 0 and at most "
      "100");
}

TEST(Suggestion, NamesTheNearestAndOnlyANearOne) {
  const std::vector<std::string_view> names{"bert-train", "bert-inf", "vit-inf"};
  EXPECT_EQ(nearest_name("bert-in", names), "bert-inf");
  EXPECT_EQ(nearest_name("vit_inf", names), "vit-inf");
  EXPECT_FALSE(nearest_name("gpt2-xl_batch20", names).has_value());
  EXPECT_FALSE(nearest_name(std::string(100000, 'x'), names).has_value());
}

}  // namespace
}  // namespace carpool::dataset
