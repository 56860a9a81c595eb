#include "app/inputs/past_jobs.hpp"

#include <filesystem>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

using nlohmann::json;

TEST(PastJobs, TheFolderOfAJobIsAbsolute) {
  EXPECT_EQ(job_folder("/srv/../data/./x"), "/data/x");
  EXPECT_EQ(job_folder(""), std::filesystem::current_path().string() + "/");
  EXPECT_EQ(job_folder("sub"), (std::filesystem::current_path() / "sub").string());
}

TEST(PastJobs, AreReadFromTheHistoryOfTheServer) {
  const auto past = past_commands_from(json::parse(R"({"version": 1, "jobs": [
      {"id": 7, "argv": ["a", "b"], "cwd": "/w", "gpu_count": 2, "started_s": 100, "ended_s": 160.5,
       "end": "succeeded", "peak_bytes": 5000000000, "failed_peak_bytes": 3}]})"));
  ASSERT_EQ(past.size(), 1U);
  EXPECT_EQ(past[0].job, 7);
  EXPECT_EQ(past[0].argv, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(past[0].folder, "/w");
  EXPECT_EQ(past[0].gpus, 2);
  EXPECT_DOUBLE_EQ(past[0].run_s, 60.5);
  EXPECT_EQ(past[0].peak_bytes, 5'000'000'000);
  EXPECT_EQ(past[0].failed_peak_bytes, 3);
}

TEST(PastJobs, EntriesOfAnotherShapeAreSkipped) {
  for (const char* text : {"[]", "3", "{}", R"({"jobs": 3})"}) {
    EXPECT_TRUE(past_commands_from(json::parse(text)).empty()) << text;
  }
  const json whole = {{"id", 7}, {"argv", {"a"}}, {"cwd", "/w"}, {"gpu_count", 1}};
  json jobs = json::array({whole, 3, json::object()});
  for (const auto& [key, value] : {std::pair("id", json("7")),
                                   std::pair("argv", json("a")),
                                   std::pair("argv", json::array({1})),
                                   std::pair("cwd", json(nullptr)),
                                   std::pair("gpu_count", json(1.5))}) {
    json job = whole;
    job[key] = value;
    jobs.push_back(job);
  }
  EXPECT_EQ(past_commands_from({{"jobs", jobs}}).size(), 1U);
}

TEST(PastJobs, ImpossibleNumbersAreIgnored) {
  const auto past = past_commands_from(json::parse(R"({"jobs": [
      {"id": 7, "argv": [], "cwd": "", "gpu_count": 1, "started_s": -1, "ended_s": 1e300,
       "peak_bytes": 0, "failed_peak_bytes": "many"}]})"));
  ASSERT_EQ(past.size(), 1U);
  EXPECT_EQ(past[0].ended_s, 0.0);
  EXPECT_EQ(past[0].run_s, 0.0);
  EXPECT_FALSE(past[0].peak_bytes);
  EXPECT_FALSE(past[0].failed_peak_bytes);
}

}  // namespace
}  // namespace carpool::app
