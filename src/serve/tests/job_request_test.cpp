#include "serve/job_request.hpp"

#include <gtest/gtest.h>

namespace carpool::serve {
namespace {

TEST(JobRequest, AnArrayBecomesOneJobForEachIndex) {
  const auto jobs = parse_job_request(R"({"argv": ["true"], "array": "2-4", "mem": "1G"})");
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 3U);
  EXPECT_EQ(jobs->back().array_index, 4);
  EXPECT_EQ(jobs->back().mem_bytes, std::uint64_t{1} << 30U);
}

TEST(JobRequest, WhatIsNoJobIsRefused) {
  for (const char* text : {"",
                           "null",
                           "[]",
                           "{",
                           R"({"argv": []})",
                           R"({"argv": ["x"], "colour": 1})",
                           R"({"argv": ["x"], "array": "9-1"})"}) {
    EXPECT_TRUE(!parse_job_request(text) || parse_job_request(text)->front().argv.empty()) << text;
  }
}

}  // namespace
}  // namespace carpool::serve
