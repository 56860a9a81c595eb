#include "serve/job_request.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace carpool::serve {
namespace {

TEST(JobRequest, OneObjectIsOneJob) {
  const auto jobs = parse_job_request(R"({"argv": ["python", "t.py"], "gpus": 2, "mem": "1G"})");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 1U);
  EXPECT_EQ(jobs->front().argv, (std::vector<std::string>{"python", "t.py"}));
  EXPECT_EQ(jobs->front().gpus, 2U);
  EXPECT_EQ(jobs->front().mem_bytes, std::uint64_t{1} << 30U);
  EXPECT_EQ(jobs->front().array_index, std::nullopt);
}

TEST(JobRequest, AnArrayBecomesOneJobForEachIndex) {
  const auto jobs = parse_job_request(R"({"argv": ["true"], "array": "2-4", "mem": "1G"})");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 3U);
  for (std::size_t i = 0; i < jobs->size(); ++i) {
    EXPECT_EQ((*jobs)[i].array_index, static_cast<int>(i) + 2);
    EXPECT_EQ((*jobs)[i].argv, std::vector<std::string>{"true"});
  }
}

TEST(JobRequest, AnArrayHasAtMostTenThousandJobs) {
  const auto most = parse_job_request(R"({"argv": ["true"], "array": "1-10000"})");
  ASSERT_TRUE(most) << most.error().message;
  EXPECT_EQ(most->size(), 10'000U);
  const auto more = parse_job_request(R"({"argv": ["true"], "array": "0-10000"})");
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("at most 10000"), std::string::npos) << more.error().message;
}

TEST(JobRequest, TheJobsOfAnArrayShareTheirEnvironment) {
  const auto jobs = parse_job_request(R"({"argv": ["true"], "array": "1-3", "env": {"A": "b"}})");
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_EQ(&jobs->front().env.map(), &jobs->back().env.map());
  EXPECT_EQ(jobs->back().env.at("A"), "b");
}

TEST(JobRequest, AnArrayIsRejectedBeforeALargeCommandIsCopied) {
  const std::string large(100'000, 'x');
  for (const std::string& part : {R"({"argv": ["true"], "env": {"A": ")" + large + "\"}",
                                  R"({"argv": ["true", ")" + large + "\"]"}) {
    EXPECT_TRUE(parse_job_request(part + R"(, "array": "1-500"})"));
    const auto jobs = parse_job_request(part + R"(, "array": "1-10000"})");
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
    const auto jobs = parse_job_request(text);
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
  EXPECT_EQ(parse_job_request(R"({"argv": ["python", "train.py"]})")->front().name, "train.py");
  EXPECT_EQ(parse_job_request(R"({"argv": ["python", "train.py"], "name": "mine"})")->front().name,
            "mine");
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
    const auto jobs = parse_job_request(text);
    ASSERT_FALSE(jobs) << text;
    EXPECT_EQ(jobs.error().code, ErrorCode::InvalidInput);
    EXPECT_NE(jobs.error().message.find(says), std::string::npos) << jobs.error().message;
  }
}

}  // namespace
}  // namespace carpool::serve
