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

TEST(JobRequest, RejectsAnythingElseAndSaysWhy) {
  for (const auto& [text, says] :
       {std::pair("", "JSON object"),
        std::pair("null", "JSON object"),
        std::pair("[]", "JSON object"),
        std::pair("{", "JSON object"),
        std::pair(R"({"argv": "x"})", "argv: expected a list of texts"),
        std::pair(R"({"argv": ["x"], "colour": 1})", "unknown key \"colour\""),
        std::pair(R"({"argv": ["x"], "array": "9-1"})", "\"9-1\" is not a list of array indices"),
        std::pair(R"({"argv": ["x"], "gpus": -1})", "gpus: expected a whole number")}) {
    const auto jobs = parse_job_request(text);
    ASSERT_FALSE(jobs) << text;
    EXPECT_EQ(jobs.error().code, ErrorCode::InvalidInput);
    EXPECT_NE(jobs.error().message.find(says), std::string::npos) << jobs.error().message;
  }
}

}  // namespace
}  // namespace carpool::serve
