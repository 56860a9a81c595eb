#include "serve/job_request.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include <gtest/gtest.h>

namespace carpool::serve {
namespace {

constexpr double kSubmitted = 1.8e9;

Result<std::vector<JobSpec>> jobs_of(std::string_view text) {
  return parse_job_request(text, kSubmitted);
}

TEST(JobRequest, OneObjectIsOneJob) {
  const auto jobs = jobs_of(R"({"argv": ["python", "t.py"], "gpus": 2, "mem": "1G"})");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 1U);
  EXPECT_EQ(jobs->front().argv, (std::vector<std::string>{"python", "t.py"}));
  EXPECT_EQ(jobs->front().gpus, 2U);
  EXPECT_EQ(jobs->front().mem_bytes, std::uint64_t{1} << 30U);
  EXPECT_EQ(jobs->front().array_index, std::nullopt);
}

TEST(JobRequest, ASweepBecomesOneJobForEachCombination) {
  const auto jobs = jobs_of(
      R"({"argv": ["t", "{a}-{b}", "{c}{a"], "output": "{b}{a}", "params": {"b": [1, "{a}"], "a": ["x", "y"]}})");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 4U);
  EXPECT_EQ(jobs->at(1).argv, (std::vector<std::string>{"t", "x-{a}", "{c}{a"}));
  EXPECT_EQ(jobs->at(2).argv[1], "y-1");
  EXPECT_EQ(jobs->at(2).output, "1y");
  EXPECT_EQ(jobs->at(2).array_index, 2);
  EXPECT_EQ(jobs->at(2).params, (std::map<std::string, std::string>{{"a", "y"}, {"b", "1"}}));
}

TEST(JobRequest, ASweepThatGrowsWithoutBoundIsRefused) {
  std::string word;
  for (int i = 0; i < 30'000; ++i) {
    word += "{a}";
  }
  const std::string value(4000, 'x');
  std::string list;
  for (int i = 0; i < 500; ++i) {
    list += (i == 0 ? "\"" : ",\"") + value + "\"";
  }
  const auto jobs =
      jobs_of(R"({"argv": ["t", ")" + word + R"("], "params": {"a": [)" + list + "]}}");
  ASSERT_FALSE(jobs);
  EXPECT_NE(jobs.error().message.find("together they may have"), std::string::npos);
}

TEST(JobRequest, JobsOfAnArrayHaveFilesOfTheirOwn) {
  EXPECT_FALSE(jobs_of(R"({"argv": ["t"], "array": "0-1", "output": "x"})"));
  EXPECT_FALSE(jobs_of(R"({"argv": ["t"], "output": "%a"})"));
  EXPECT_FALSE(jobs_of(R"({"argv": ["t"], "output": "%"})"));
  for (const char* name : {"%a", "%j", "/dev/null"}) {
    EXPECT_TRUE(jobs_of(
        fmt::format(R"({{"argv": ["t"], "array": "0-1", "output": "{}", "error": "e%a"}})", name)));
  }
}

TEST(JobRequest, AnArrayBecomesOneJobForEachIndex) {
  const auto jobs = jobs_of(R"({"argv": ["true"], "array": "2-4", "mem": "1G"})");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 3U);
  for (std::size_t i = 0; i < jobs->size(); ++i) {
    EXPECT_EQ((*jobs)[i].array_index, static_cast<int>(i) + 2);
    EXPECT_EQ((*jobs)[i].argv, std::vector<std::string>{"true"});
  }
}

TEST(JobRequest, AnArrayHasAtMostTenThousandJobs) {
  const auto most = jobs_of(R"({"argv": ["true"], "array": "1-10000"})");
  ASSERT_TRUE(most) << most.error().message;
  EXPECT_EQ(most->size(), 10'000U);
  const auto more = jobs_of(R"({"argv": ["true"], "array": "0-10000"})");
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("at most 10000"), std::string::npos) << more.error().message;
}

TEST(JobRequest, TheJobsOfAnArrayShareTheirEnvironment) {
  const auto jobs = jobs_of(R"({"argv": ["true"], "array": "1-3", "env": {"A": "b"}})");
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_EQ(&jobs->front().env.map(), &jobs->back().env.map());
  EXPECT_EQ(jobs->back().env.at("A"), "b");
}

TEST(JobRequest, AnArrayIsRejectedBeforeALargeCommandIsCopied) {
  const std::string large(100'000, 'x');
  for (const std::string& part : {R"({"argv": ["true"], "env": {"A": ")" + large + "\"}",
                                  R"({"argv": ["true", ")" + large + "\"]"}) {
    EXPECT_TRUE(jobs_of(part + R"(, "array": "1-500"})"));
    const auto jobs = jobs_of(part + R"(, "array": "1-10000"})");
    ASSERT_FALSE(jobs);
    EXPECT_NE(jobs.error().message.find("array: 10000 jobs"), std::string::npos);
  }
}

TEST(JobRequest, JsonThatWouldFillTheMemoryIsNotParsed) {
  const std::size_t bytes = std::size_t{4} << 20U;
  std::string values = "[0";
  while (values.size() < bytes) {
    values += ",0";
  }
  for (const std::string& text : {std::string(bytes, '['), values}) {
    const auto jobs = jobs_of(text);
    ASSERT_FALSE(jobs);
    EXPECT_NE(jobs.error().message.find("too many values"), std::string::npos);
  }
}

TEST(SmallJson, CountsNestingAndValuesOutsideTexts) {
  EXPECT_TRUE(is_small_json(""));
  EXPECT_TRUE(is_small_json(std::string(32, '[')));
  EXPECT_FALSE(is_small_json(std::string(33, '{')));
  EXPECT_TRUE(is_small_json("\"" + std::string(200, '[') + "\""));
  EXPECT_TRUE(is_small_json(R"("\"")" + std::string(32, '[')));
  EXPECT_FALSE(is_small_json(R"("\\")" + std::string(33, '[')));
  std::string siblings;
  for (int i = 0; i < 1000; ++i) {
    siblings += "[]";
  }
  EXPECT_TRUE(is_small_json(siblings));
  EXPECT_TRUE(is_small_json(std::string(100'000, ',')));
  EXPECT_FALSE(is_small_json(std::string(100'001, ',')));
}

TEST(JobRequest, AJobWithoutANameIsNamedByItsScript) {
  EXPECT_EQ(default_name({"python3", "-u", "p/train.py", "--epochs", "3"}), "train.py");
  EXPECT_EQ(default_name({"/usr/bin/sleep", "600"}), "sleep");
  EXPECT_EQ(default_name({"python", "-m", "pkg.train"}), "pkg.train");
  EXPECT_EQ(default_name({"bash", "-c", "for i in 1 2; do echo $i; done; date"}), "bash");
  EXPECT_EQ(default_name({"./" + std::string(100, 'x')}), "");
  EXPECT_EQ(jobs_of(R"({"argv": ["python", "train.py"]})")->front().name, "train.py");
  EXPECT_EQ(jobs_of(R"({"argv": ["python", "train.py"], "name": "mine"})")->front().name, "mine");
}

TEST(JobRequest, RejectsAnythingElseAndSaysWhy) {
  for (const auto& [text, says] :
       {std::pair("", "JSON object"),
        std::pair("null", "JSON object"),
        std::pair("[]", "JSON object"),
        std::pair("{", "JSON object"),
        std::pair(R"({"argv": "x"})", "argv: expected a list of texts"),
        std::pair(R"({"argv": ["x"], "colour": 1})", "unknown key \"colour\""),
        std::pair(R"({"argv": ["x"], "array": "9-1"})", "\"9-1\" is not a list of array indices"),
        std::pair(R"({"argv": ["x"], "array_job": 1})", "\"array_job\" is given by the server"),
        std::pair(R"({"argv": ["x"], "gpus": -1})", "gpus: expected a whole number")}) {
    const auto jobs = jobs_of(text);
    ASSERT_FALSE(jobs) << text;
    EXPECT_EQ(jobs.error().code, ErrorCode::InvalidInput);
    EXPECT_NE(jobs.error().message.find(says), std::string::npos) << jobs.error().message;
  }
}

TEST(JobRequest, AnArrayMaySayHowManyOfItsJobsRunAtOnce) {
  const auto jobs = jobs_of(R"({"argv": ["true"], "array": "0-9%4"})");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 10U);
  EXPECT_EQ(jobs->back().array_limit, 4U);
  EXPECT_EQ(jobs_of(R"({"argv": ["true"], "array": "0-9"})")->back().array_limit, std::nullopt);
  for (const char* text : {R"({"argv": ["true"], "array": "0-9%0"})",
                           R"({"argv": ["true"], "array": "0-9%"})",
                           R"({"argv": ["true"], "array": "0-9%x"})"}) {
    const auto refused = jobs_of(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().message.find("0-99%4"), std::string::npos);
  }
}

TEST(JobRequest, ReadsWhenAJobMayBegin) {
  EXPECT_EQ(jobs_of(R"({"argv": ["true"], "begin": "now+2h"})")->front().begin_s,
            kSubmitted + 7200.0);
  EXPECT_EQ(jobs_of(R"({"argv": ["true"], "begin_s": 5})")->front().begin_s, 5.0);
  EXPECT_FALSE(jobs_of(R"({"argv": ["true"], "begin": "now+2h", "begin_s": 5})"));
  EXPECT_FALSE(jobs_of(R"({"argv": ["true"], "begin": 5})"));
  EXPECT_EQ(parse_update_request(R"({"begin": "now"})", "u", kSubmitted)->begin_s, kSubmitted);
  EXPECT_EQ(parse_update_request(R"({"priority": 1})", "u", kSubmitted)->begin_s, std::nullopt);
}

TEST(JobRequest, ReadsTheGpusThatAJobMayRunOn) {
  using Indices = std::vector<unsigned>;
  EXPECT_EQ(jobs_of(R"({"argv": ["true"], "gpu": 1})")->front().gpu_filter.indices, Indices{1});
  const auto jobs = jobs_of(R"({"argv": ["true"], "gpu": [0, 1], "gpu_type": "h200"})");
  EXPECT_EQ(jobs->front().gpu_filter.indices, (Indices{0, 1}));
  EXPECT_EQ(jobs->front().gpu_filter.type, "h200");
}

}  // namespace
}  // namespace carpool::serve
