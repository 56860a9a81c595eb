#include "serve/ended_listing.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "serve/job_listing.hpp"
#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

json listed(const store::EndedJob& job, const Caller& caller) {
  std::string text;
  add_ended_jobs(text, std::array{job}, caller);
  return json::parse(text);
}

TEST(EndedQuery, IsAboutTheCallersOwnLatestJobsByDefault) {
  const auto query = read_ended_query({}, caller_ann);
  ASSERT_TRUE(query);
  EXPECT_EQ(query->uid, caller_ann.uid);
  EXPECT_EQ(query->before, std::nullopt);
  EXPECT_EQ(query->most, 100U);
  EXPECT_FALSE(query->with_specs);
}

TEST(EndedQuery, TakesAllUsersPagesAndCommands) {
  const auto query = read_ended_query(
      {{"all", "1"}, {"before", "17"}, {"limit", "5"}, {"commands", "1"}}, caller_ann);
  ASSERT_TRUE(query);
  EXPECT_EQ(query->uid, std::nullopt);
  EXPECT_EQ(query->before, 17);
  EXPECT_EQ(query->most, 5U);
  EXPECT_TRUE(query->with_specs);
  EXPECT_EQ(read_ended_query({{"all", "0"}}, caller_ann)->uid, caller_ann.uid);
}

TEST(EndedQuery, LimitsHowManyAreListed) {
  EXPECT_EQ(read_ended_query({{"limit", "0"}}, caller_ann)->most, 1U);
  EXPECT_EQ(read_ended_query({{"limit", "999999999"}}, caller_ann)->most, kMostListed);
  EXPECT_EQ(read_ended_query({{"limit", "999999999"}, {"commands", "1"}}, caller_ann)->most, 1000U);
}

TEST(EndedQuery, RejectsWhatIsNotANumberAndNamesTheKey) {
  for (const char* key : {"before", "limit"}) {
    for (const char* value : {"", "x", "-1", "1.5", "1x", "99999999999999999999999"}) {
      const auto query = read_ended_query({{key, value}}, caller_ann);
      ASSERT_FALSE(query) << key << "=" << value;
      EXPECT_EQ(query.error().code, ErrorCode::InvalidInput);
      EXPECT_EQ(query.error().message, fmt::format("{}: \"{}\" is not a valid number", key, value));
    }
  }
}

TEST(EndedList, HidesNamesReasonsPeaksAndCommandsOfOtherUsers) {
  const store::EndedJob job{.id = 3,
                            .owner = {.uid = caller_ann.uid, .user = caller_ann.user},
                            .name = "secret name",
                            .workload = "train",
                            .submitted_s = 1.0,
                            .started_s = 2.0,
                            .ended_s = 9.0,
                            .end = RunEnd::Failed,
                            .reason = "secret reason",
                            .peak_bytes = 5,
                            .failed_peak_bytes = 6,
                            .spec = JobSpec{.argv = {"secret", "command"}, .cwd = "/secret"}};
  EXPECT_EQ(listed(job, caller_bob),
            json::parse(R"({"id": 3, "user": "u1000", "submitted_s": 1.0, "started_s": 2.0,
                            "ended_s": 9.0, "end": "failed"})"));
  for (const Caller& caller : {caller_ann, caller_operator}) {
    const json own = listed(job, caller);
    EXPECT_EQ(own.at("name"), "secret name");
    EXPECT_EQ(own.at("reason"), "secret reason");
    EXPECT_EQ(own.at("argv"), json({"secret", "command"}));
    EXPECT_EQ(own.at("cwd"), "/secret");
    EXPECT_EQ(own.at("gpu_count"), 1);
    EXPECT_EQ(own.at("peak_bytes"), 5);
    EXPECT_EQ(own.at("failed_peak_bytes"), 6);
  }
}

TEST(EndedList, AJobWithoutANameIsCalledByItsWorkload) {
  const store::EndedJob job{.owner = {.uid = caller_ann.uid}, .workload = "train"};
  const json view = listed(job, caller_ann);
  EXPECT_EQ(view.at("name"), "train");
  EXPECT_FALSE(view.contains("started_s"));  // it never ran
  EXPECT_FALSE(view.contains("argv"));       // not requested
}

}  // namespace
}  // namespace carpool::serve
