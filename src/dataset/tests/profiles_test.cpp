#include <string>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "dataset/parse.hpp"

namespace carpool::dataset {
namespace {

Result<Dataset> parse(std::string_view csv, std::string_view toml = {}) {
  return parse_dataset_toml(toml, "d/dataset.toml").and_then([csv](const auto& settings) {
    return parse_profiles(csv, "d/profiles.csv", settings);
  });
}

std::string profile_error(std::string_view csv, std::string_view toml = {}) {
  const auto dataset = parse(csv, toml);
  return dataset ? "" : dataset.error().message;
}

std::vector<std::string> names(const Dataset& dataset) {
  std::vector<std::string> list;
  list.reserve(dataset.metrics.size());
  for (const MetricInfo& metric : dataset.metrics) {
    list.push_back(metric.name);
  }
  return list;
}

TEST(Profiles, WorkloadAndThroughputAloneAreEnough) {
  const auto dataset = parse("workload,exclusive_thr\na,10\nb,2.5\n");
  ASSERT_TRUE(dataset.has_value()) << dataset.error().message;
  ASSERT_EQ(dataset->profiles.size(), 2U);
  EXPECT_EQ(dataset->profiles[1].workload, "b");
  EXPECT_EQ(dataset->profiles[1].exclusive_throughput, 2.5);
  EXPECT_FALSE(dataset->profiles[1].batch.has_value());
  EXPECT_TRUE(dataset->metrics.empty());
  EXPECT_EQ(dataset->info.throughput_unit, "units/s");
  EXPECT_EQ(dataset->find("b"), 1U);
  EXPECT_FALSE(dataset->find("c").has_value());
}

TEST(Profiles, WithoutSettingsEveryNumericColumnButBookkeepingIsAMetric) {
  const auto dataset = parse(
      "id,workload,model,task,batch,in_x,is_y,busy_pct,exclusive_thr,note,empty,mem%,regs\n"
      "7,a,resnet,inf,8,1,0,50,10,fast,,3,100\n"
      "8,b,resnet,train,,1,0,,12,2,,4,200\n");
  ASSERT_TRUE(dataset.has_value()) << dataset.error().message;
  EXPECT_EQ(names(*dataset), (std::vector<std::string>{"busy_pct", "mem%", "regs"}));
  EXPECT_EQ(dataset->metrics[0].combine, Combine::Mean);
  EXPECT_EQ(dataset->metrics[1].combine, Combine::Mean);
  EXPECT_EQ(dataset->metrics[2].combine, Combine::Sum);
  const Profile& first = dataset->profiles[0];
  EXPECT_EQ(first.model, "resnet");
  EXPECT_EQ(first.task, "inf");
  EXPECT_EQ(first.batch, 8.0);
  EXPECT_EQ(first.metrics.at("regs"), 100.0);
  EXPECT_FALSE(dataset->profiles[1].metrics.contains("busy_pct"))
      << "an empty cell is not measured";
  EXPECT_FALSE(dataset->profiles[1].batch.has_value());
}

TEST(Profiles, SettingsNameTheMetricsAndTheFileOrdersThem) {
  const auto dataset = parse("workload,b,a,exclusive_thr,c\nw,1,2,3,4\n",
                             "gpu = \"V100\"\ndriver = \"545\"\nthroughput_unit = \"samples/s\"\n"
                             "provenance = \"own\"\n"
                             "[metrics]\na = \"mean\"\nb = { group = \"kernel\" }\n");
  ASSERT_TRUE(dataset.has_value()) << dataset.error().message;
  EXPECT_EQ(dataset->info.gpu, "V100");
  EXPECT_EQ(dataset->info.driver, "545");
  EXPECT_EQ(dataset->info.throughput_unit, "samples/s");
  EXPECT_EQ(dataset->info.provenance, "own");
  EXPECT_EQ(names(*dataset), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(dataset->metrics[0].group, "kernel");
  EXPECT_EQ(dataset->metrics[0].combine, Combine::Sum);
  EXPECT_EQ(dataset->metrics[1].combine, Combine::Mean);
  EXPECT_FALSE(dataset->profiles[0].metrics.contains("c"));
}

TEST(Profiles, AnEmptyMetricsSectionMeansNoMetrics) {
  const auto dataset = parse("workload,exclusive_thr,x\nw,1,2\n", "[metrics]\n");
  ASSERT_TRUE(dataset.has_value());
  EXPECT_TRUE(dataset->metrics.empty());
}

TEST(Profiles, BadRowsAreRefusedWithFileLineAndColumn) {
  const std::string head = "workload,exclusive_thr,batch,x\n";
  EXPECT_EQ(profile_error(head + "a,1,,\na,2,,\n"),
            "d/profiles.csv:3: column workload: \"a\" is already described on line 2");
  EXPECT_EQ(profile_error(head + ",1,,\n"),
            "d/profiles.csv:2: column workload: \"\" is not a name; expected one line of text");
  EXPECT_EQ(profile_error(head + "\"a\nb\",1,,\n"),
            "d/profiles.csv:2: column workload: \"a b\" is not a name; expected one line of text");
  EXPECT_EQ(profile_error(head + "a,,,\n"),
            "d/profiles.csv:2: column exclusive_thr: \"\" is not a number; expected the solo "
            "throughput in units/s");
  EXPECT_EQ(profile_error(head + "a,0,,\n"),
            "d/profiles.csv:2: column exclusive_thr: \"0\" is not above 0; expected the solo "
            "throughput in units/s");
  EXPECT_EQ(profile_error(head + "a,-3,,\n").find("d/profiles.csv:2: column exclusive_thr"), 0U);
  EXPECT_EQ(profile_error(head + "a,nan,,\n").find("d/profiles.csv:2: column exclusive_thr"), 0U);
  EXPECT_EQ(profile_error(head + "a,1,big,\n"),
            "d/profiles.csv:2: column batch: \"big\" is not a number; expected samples per step");
  EXPECT_EQ(profile_error(head),
            "d/profiles.csv:1: no rows after the header; expected one per workload");
}

TEST(Profiles, NonFiniteMetricIsAnErrorAndNotATextColumn) {
  for (const char* cell : {"nan", "inf", "-inf", "1e999"}) {
    EXPECT_EQ(
        profile_error(fmt::format("workload,exclusive_thr,x\na,1,5\nb,1,{}\n", cell)),
        fmt::format("d/profiles.csv:3: column x: \"{}\" is not a number; expected a metric, or "
                    "nothing where not measured",
                    cell));
  }
}

TEST(Profiles, OneTextAmongNumbersIsAnErrorAndNotATextColumn) {
  const std::string message = profile_error("workload,exclusive_thr,m\na,1,3\nb,1,n/a\nc,1,5\n");
  EXPECT_EQ(message.substr(0, 35), "d/profiles.csv:3: column m: \"n/a\" i");
  // Mostly text is a column of text.
  EXPECT_TRUE(parse("workload,exclusive_thr,m\na,1,x\nb,1,y\nc,1,5\n")->metrics.empty());
}

TEST(Profiles, TextInADeclaredMetricIsAnError) {
  EXPECT_EQ(
      profile_error("workload,exclusive_thr,x\na,1,5\nb,1,high\n", "[metrics]\nx = \"sum\"\n"),
      "d/profiles.csv:3: column x: \"high\" is not a number; expected a metric, or nothing "
      "where not measured");
}

TEST(Profiles, MissingColumnsAreNamed) {
  EXPECT_EQ(profile_error("workload,thr\na,1\n"),
            "d/profiles.csv:1: column exclusive_thr is missing; found workload, thr");
  EXPECT_EQ(profile_error("name,exclusive_thr\na,1\n"),
            "d/profiles.csv:1: column workload is missing; found name, exclusive_thr");
}

TEST(Profiles, SettingsErrorsNameTheirLine) {
  const std::string csv = "workload,exclusive_thr,x\na,1,5\n";
  EXPECT_EQ(profile_error(csv, "gpu = \"A\"\n\ngpus = 2\n"),
            "d/dataset.toml:3: unknown key \"gpus\"; did you mean \"gpu\"?; known: gpu, driver, "
            "throughput_unit, provenance, metrics");
  EXPECT_EQ(profile_error(csv, "gpu = 3\n"), "d/dataset.toml:1: gpu: expected a text in quotes");
  EXPECT_EQ(profile_error(csv, "[metrics]\ny = \"sum\"\n"),
            "d/dataset.toml:2: metric \"y\" is not a column of d/profiles.csv");
  EXPECT_EQ(profile_error(csv, "[metrics]\nexclusive_thr = \"sum\"\n").find("d/dataset.toml:2: "),
            0U);
  EXPECT_EQ(profile_error(csv, "[metrics]\nx = \"max\"\n"),
            "d/dataset.toml:2: [metrics] x: expected \"sum\" or \"mean\"");
  EXPECT_EQ(profile_error(csv, "[metrics]\nx = { combine = \"max\" }\n"),
            "d/dataset.toml:2: [metrics.x] combine: expected \"sum\" or \"mean\"");
  EXPECT_EQ(profile_error(csv, "[metrics]\nx = { combine = 1 }\n"),
            "d/dataset.toml:2: [metrics.x] combine: expected a text in quotes");
  EXPECT_EQ(profile_error(csv, "[metrics]\nx = { kind = \"k\" }\n"),
            "d/dataset.toml:2: [metrics.x] unknown key \"kind\"; known: combine, group");
  EXPECT_EQ(profile_error(csv, "[metrics]\nx = { group = 1 }\n"),
            "d/dataset.toml:2: [metrics.x] group: expected a text in quotes");
  for (const char* other : {"metrics = 1\n", "metrics = []\n", "[[metrics]]\nx = \"sum\"\n"}) {
    EXPECT_EQ(profile_error(csv, other),
              "d/dataset.toml:1: metrics: expected a section, [metrics]");
  }
  EXPECT_EQ(profile_error(csv, "gpu = \"A\"\ngpu =\n").find("d/dataset.toml:2: "), 0U);
}

}  // namespace
}  // namespace carpool::dataset
