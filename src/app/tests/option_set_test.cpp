#include "app/cli/option_set.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/cli/command_line.hpp"
#include "app/cli/job_settings.hpp"

namespace carpool::app {
namespace {

using Words = std::vector<std::string>;

TEST(OptionChecks, AcceptAndRefuse) {
  EXPECT_EQ(whole_number()("18446744073709551615"), "");
  EXPECT_EQ(whole_number()("18446744073709551616"),
            "\"18446744073709551616\" is not a whole number");
  EXPECT_EQ(whole_number(1)("1"), "");
  EXPECT_EQ(whole_number(1)("0"), "\"0\" is not a whole number, at least 1");
  EXPECT_EQ(whole_number()("1.5"), "\"1.5\" is not a whole number");
  EXPECT_EQ(whole_number()(""), "\"\" is not a whole number");
  EXPECT_EQ(share_of_one()("1"), "");
  EXPECT_EQ(share_of_one()("1.01"), "\"1.01\" is not a number from 0 to 1");
  EXPECT_EQ(share_of_one()("nan"), "\"nan\" is not a number from 0 to 1");
  EXPECT_EQ(above_zero()("1e-9"), "");
  EXPECT_EQ(above_zero()("0"), "\"0\" is not a number above 0");
  EXPECT_EQ(above_zero()("inf"), "\"inf\" is not a number above 0");
  EXPECT_EQ(above_zero()("2s"), "\"2s\" is not a number above 0");
  EXPECT_EQ(confidence_level()("0.5"), "");
  EXPECT_EQ(confidence_level()("1"), "\"1\" is not a number from 0.5 to 0.999");
  EXPECT_EQ(seconds_from(0.5)("0.5"), "");
  EXPECT_EQ(seconds_from(0.5)("0.4"), "\"0.4\" is not a number of seconds, at least 0.5");
  EXPECT_EQ(seconds_from(0.0)("31536001"), "\"31536001\" is not a number of seconds, at least 0");
}

TEST(Checks, SizesAndTimesNeedAUnit) {
  EXPECT_EQ(memory_size()("12G"), "");
  EXPECT_EQ(memory_size()("12"), "12 has no unit; write 12G for 12 GiB or 12M for 12 MiB");
  EXPECT_EQ(memory_size({"auto"})("auto"), "");
  EXPECT_EQ(memory_size()("auto"), "\"auto\" is not a memory size; write 12G or 512M");
  EXPECT_EQ(time_with_unit()("1:30:00"), "");
  EXPECT_EQ(time_with_unit()("2"),
            "2 has no unit; write 2d for days, 2h for hours, 2m for minutes or 2s for seconds");
}

TEST(JobSettings, ReadTheWordsOfCarpoolLines) {
  const auto job = parse_job_settings({"--gpus",
                                       "2",
                                       "--mem=12G",
                                       "--exclusive",
                                       "--after",
                                       "3,4",
                                       "--env",
                                       "A=1",
                                       "--env",
                                       "B",
                                       "--priority",
                                       "-5"},
                                      "job.sh");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->gpus, 2U);
  EXPECT_EQ(job->mem, "12G");
  EXPECT_TRUE(job->exclusive);
  EXPECT_EQ(job->after, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(job->env, (Words{"A=1", "B"}));
  EXPECT_EQ(job->priority, -5);
  EXPECT_FALSE(job->time.has_value());
  EXPECT_FALSE(job->clean_env);
}

TEST(JobSettings, LatenciesHaveTheirUnit) {
  for (const auto& [text, ms] : {std::pair("20ms", 20.0),
                                 std::pair("0.5s", 500.0),
                                 std::pair("800us", 0.8),
                                 std::pair("1e1ms", 10.0)}) {
    EXPECT_DOUBLE_EQ(parse_latency_ms(text).value_or(0.0), ms) << text;
  }
  for (const char* const text :
       {"", "ms", "0ms", "-1ms", "20", "20m", "20 ms", "2h", "9999s", "nan"}) {
    EXPECT_FALSE(parse_latency_ms(text).has_value()) << text;
  }
}

TEST(JobSettings, RefuseWhatIsNotASettingOfAJob) {
  for (const auto& [words, problem] :
       {std::pair(Words{"--wait"}, "unexpected argument \"--wait\""),
        std::pair(Words{"--help"}, "unexpected argument \"--help\"; did you mean \"--hold\"?"),
        std::pair(
            Words{"--partition=gpu"},
            "unexpected argument \"--partition=gpu\"; write nothing: the server has one queue"),
        std::pair(Words{"python"}, "unexpected argument \"python\""),
        std::pair(Words{"--gpus", "two"}, "--gpus: \"two\" is not a whole number, at least 1"),
        std::pair(Words{"--mem", "12"},
                  "--mem: 12 has no unit; write 12G for 12 GiB or 12M for 12 MiB"),
        std::pair(Words{"--slo", "20"},
                  "--slo: 20 has no unit; write 20ms for milliseconds or 20s for seconds"),
        std::pair(Words{"--slo", "20ms", "--quantile", "99"},
                  "--quantile: 99 is not between 0 and 1; write 0.99")}) {
    const auto job = parse_job_settings(words, "job.sh");
    ASSERT_FALSE(job);
    EXPECT_EQ(job.error().code, ErrorCode::InvalidInput);
    EXPECT_EQ(job.error().message, "job.sh: #CARPOOL: " + std::string(problem));
  }
}

}  // namespace
}  // namespace carpool::app
