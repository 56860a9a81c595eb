#include "app/inputs/sources.hpp"

#include <gtest/gtest.h>

#include "app/tests/small_dataset.hpp"

namespace carpool::app {
namespace {

Config configured(const std::string& data) {
  Config config;
  config.data = data;
  return config;
}

ModelOptions of_tables(std::vector<std::string> tables) {
  ModelOptions options;
  options.tables = std::move(tables);
  return options;
}

ModelOptions of_model(const char* name) {
  ModelOptions options;
  options.model = name;
  return options;
}

TEST(Sources, ABundledFolderThatIsMissingLeadsToTheOption) {
  const auto folder = bundled_folder("no-such-data");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::NotFound);
  EXPECT_TRUE(folder.error().message.starts_with("bundled data \"no-such-data\" not found beside "))
      << folder.error().message;
  EXPECT_TRUE(folder.error().message.ends_with(": name a folder with --data DIR"))
      << folder.error().message;
}

TEST(Sources, TheOptionPrecedesTheConfigurationWhichPrecedesTheBundledData) {
  const SmallDataset small;
  const TemporaryFolder empty;
  const std::string missing = (empty.path() / "none").string();
  EXPECT_EQ(open_dataset(small.path(), configured(missing))->profiles.size(), 4U);
  EXPECT_EQ(open_dataset(std::nullopt, configured(small.path()))->profiles.size(), 4U);
  const auto absent = open_dataset(missing, configured(small.path()));
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().message.find(missing), std::string::npos) << absent.error().message;
  EXPECT_GT(open_dataset(std::nullopt, Config{})->profiles.size(), 4U);
}

TEST(Sources, RowsWithThreadLimitsAreKeptApartFromTheOthers) {
  const SmallDataset small;
  static_cast<void>(small.folder().write(
      "partitions.csv", "w1,w2,thr1,thr2,pct1,pct2\njob0,job1,5,6,50,50\njob0,job2,5,6,100,100\n"));
  static_cast<void>(small.folder().write("exclusive_mps.csv", "workload,mps_pct,thr\njob0,50,8\n"));
  const auto dataset = open_dataset(small.path(), {});
  ASSERT_TRUE(dataset) << dataset.error().message;
  const auto training = gather_training_set(*dataset, {});
  ASSERT_TRUE(training) << training.error().message;
  EXPECT_EQ(training->rows.size(), 6U);
  EXPECT_EQ(training->fit_rows, 6U);
  EXPECT_EQ(training->partitions.size(), 2U);  // also that of 100/100
  ASSERT_EQ(training->limited_runs.size(), 1U);
  EXPECT_EQ(training->limited_runs[0].throughput, 8.0);
}

TEST(Sources, ATableThatIsNamedTwiceOrHasOnlyLimitsIsRefused) {
  const SmallDataset small;
  static_cast<void>(
      small.folder().write("partitions.csv", "w1,w2,thr1,thr2,pct1,pct2\njob0,job1,5,6,50,50\n"));
  const auto dataset = open_dataset(small.path(), {});
  ASSERT_TRUE(dataset);
  EXPECT_EQ(gather_training_set(*dataset, of_tables({"pairs", "pairs"})).error().message,
            "--tables names a table twice: its rows would be counted twice");
  EXPECT_EQ(gather_training_set(*dataset, of_tables({"partitions"})).error().message,
            "no training rows without thread limits: name another table with --tables");
  EXPECT_NE(gather_training_set(*dataset, of_tables({"absent"})).error().message.find("absent"),
            std::string::npos);
}

TEST(Sources, AnUnknownModelNameListsTheKnownOnes) {
  const SmallDataset small;
  const auto dataset = open_dataset(small.path(), {});
  ASSERT_TRUE(dataset);
  const auto model = obtain_model(of_model("shear"), *dataset, {}, Progress::Show::Never);
  ASSERT_FALSE(model);
  for (const char* part : {"shear", "share", "kace-lr"}) {
    EXPECT_NE(model.error().message.find(part), std::string::npos) << model.error().message;
  }
}

TEST(Sources, AModelFileAndAModelNameCannotBeCombined) {
  const SmallDataset small;
  const auto dataset = open_dataset(small.path(), {});
  ASSERT_TRUE(dataset);
  ModelOptions both = of_model("share");
  both.model_file = "some.model.json";
  EXPECT_EQ(obtain_model(both, *dataset, {}, Progress::Show::Never).error().message,
            "--model-file and --model cannot be combined: the file states its kind");
}

TEST(Sources, AnUnknownWorkloadSuggestsTheNearest) {
  const SmallDataset small;
  const auto dataset = open_dataset(small.path(), {});
  ASSERT_TRUE(dataset);
  EXPECT_EQ(find_workloads(*dataset, {"job3", "job0"}), (std::vector<std::size_t>{3, 0}));
  const auto unknown = find_workloads(*dataset, {"job0", "jobb2"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::NotFound);
  EXPECT_NE(unknown.error().message.find("\"jobb2\""), std::string::npos)
      << unknown.error().message;
  EXPECT_NE(unknown.error().message.find("job2"), std::string::npos) << unknown.error().message;
}

}  // namespace
}  // namespace carpool::app
