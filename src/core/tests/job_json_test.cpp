#include "core/json/job_json.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"

namespace carpool {
namespace {

using nlohmann::json;

std::string problem(const char* text) {
  const auto job = job_from(json::parse(text), "job");
  return job ? std::string() : job.error().message;
}

TEST(JobJson, EveryKeyComesBack) {
  const char* text =
      R"({"name":"n","argv":["a","b c"],"cwd":"/data","env":{"A":"1"},"gpus":2,"gpu":[0,1],"gpu_type":"H200",
    "mem":1024,"mem_limit":"2K","time_s":60,"runtime_s":1.5,"priority":-3,"class":"best-effort",
    "slo_ms":20,"quantile":0.99,"exclusive":true,"after":[3,4],"after_any":[5],"after_not_ok":[6],"begin_s":9.5,
    "array":7,"array_job":5,"array_limit":4,"workload":"w",
    "progress":"step-file","retries":2,"umask":"0027","output":"o%j","error":"e","notify":"date","params":{"lr":"1e-3"},
    "limits":{"core":"0:unlimited","nofile":"1024:4096"}})";
  const auto job = job_from(json::parse(text), "job");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->argv, (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(job->mem_bytes, 1024U);
  EXPECT_EQ(job->mem_limit_bytes, 2048U);
  EXPECT_EQ(job->job_class, JobClass::BestEffort);
  EXPECT_EQ(job->after, (std::vector<JobId>{3, 4}));
  json expected = json::parse(text);
  expected["mem_limit"] = 2048;
  EXPECT_EQ(job_object(*job), expected);
}

TEST(JobJson, WhatIsNotSaidIsNotWritten) {
  const auto job = job_from(json::parse(R"({"argv":["a"]})"), "job");
  ASSERT_TRUE(job);
  EXPECT_EQ(job_object(*job).dump(), R"({"argv":["a"]})");
  EXPECT_TRUE(job_from(json::parse(R"({"argv":["a"],"mem":"auto"})"), "job")->mem_auto);
  const JobSpec estimated{.argv = {"a"}, .mem_bytes = 5, .mem_auto = true};
  const auto again = job_from(job_object(estimated), "job");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->mem_bytes, 5U);
  EXPECT_TRUE(again->mem_auto);
}

TEST(JobJson, RefusesWithTheKeyAndWhatWasExpected) {
  EXPECT_EQ(problem("{}"), "job: argv: is missing");
  EXPECT_EQ(problem("[]"), "job: not a JSON object");
  EXPECT_EQ(problem(R"({"argv":"ls -l"})"), "job: argv: expected a list of texts");
  EXPECT_EQ(problem(R"({"argv":["a"],"gpus":-1})"),
            "job: gpus: expected a whole number, not below 0");
  EXPECT_EQ(problem(R"({"argv":["a"],"gpus":5000000000})"),
            "job: gpus: expected a whole number, not below 0");
  EXPECT_EQ(problem(R"({"argv":["a"],"priority":1.5})"), "job: priority: expected a whole number");
  EXPECT_NE(problem(R"({"argv":["a"],"class":"norml"})").find("normal"), std::string::npos);
  EXPECT_NE(problem(R"({"argv":["a"],"mem":"12 apples"})").find("12G"), std::string::npos);
  EXPECT_NE(problem(R"({"argv":["a"],"tim_s":3})").find("time_s"), std::string::npos);
  EXPECT_EQ(problem(R"({"argv":["a"],"umask":"999"})"),
            "job: umask: \"999\" is not an octal mask from 000 to 777");
  EXPECT_NE(problem(R"({"argv":["a"],"umask":18})"), "");
  EXPECT_NE(problem(R"({"argv":["a"],"limits":{"nofile":1024}})"), "");
  EXPECT_NE(problem(R"({"argv":["a"],"limits":{"nofile":"9:1"}})").find("limits: nofile:"),
            std::string::npos);
}

TEST(JobJson, SizesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(*parse_memory_size("12G"), std::uint64_t{12} << 30U);
  EXPECT_EQ(*parse_memory_size("12 GiB"), std::uint64_t{12} << 30U);
  EXPECT_EQ(*parse_memory_size("1.5g"), std::uint64_t{3} << 29U);
  EXPECT_EQ(*parse_memory_size("512MB"), std::uint64_t{512} << 20U);
  EXPECT_EQ(*parse_memory_size("4096B"), 4096U);
  for (const char* wrong : {"", "G", "12X", "-1G", "0", "nan", "1e99T", "12Gi b"}) {
    EXPECT_FALSE(parse_memory_size(wrong)) << wrong;
  }
}

std::vector<JobEvent> one_of_each() {
  std::vector<JobEvent> events(9, JobEvent{.job = 7, .at_s = 12.25});
  events[0].what = JobSubmitted{.spec = {.argv = {"a"}}, .owner = {.uid = 1000, .user = "u"}};
  events[1].what = JobHeld{};
  events[2].what = JobReleased{};
  events[3].what = JobStarted{.attempt = 2,
                              .gpus = {0, 3},
                              .mechanism = ShareMechanism::Mps,
                              .thread_limit = 40.0,
                              .reserved_bytes = 1U << 30U,
                              .cap_bytes = 1U << 30U,
                              .processes = 3,
                              .predicted_progress = 0.75,
                              .reason = "most room"};
  events[4].what =
      JobStopAsked{.by = "memory", .final = false, .reserve_bytes = 7, .reason = "it grew"};
  events[5].what = JobEnded{.attempt = 2,
                            .exit = {.end = RunEnd::OutOfMemory,
                                     .code = 1,
                                     .detail = "CUDA out of memory",
                                     .wanted_bytes = 20,
                                     .held_bytes = 10,
                                     .at_s = 12.0},
                            .peak_bytes = 11,
                            .progress = 0.5,
                            .processes = 2,
                            .paused_s = 1.5,
                            .energy_joules = 0.1};
  events[6].what = JobRequeued{.reason = "r", .reserve_bytes = 5, .exclusive = true};
  events[7].what = JobClosed{.end = RunEnd::TimeLimit, .reason = "too long"};
  events[8].what = JobUpdated{.by = "u",
                              .time_s = 3.0,
                              .mem_bytes = 5,
                              .priority = -1,
                              .job_class = JobClass::BestEffort,
                              .begin_s = 8.0};
  return events;
}

TEST(JobJson, EveryEventComesBack) {
  for (const JobEvent& event : one_of_each()) {
    const std::string line = event_line(event);
    const auto read = parse_event(line, "event 1");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->what.index(), event.what.index());
    EXPECT_EQ(read->job, 7);
    EXPECT_DOUBLE_EQ(read->at_s, 12.25);
    EXPECT_EQ(event_line(*read), line);
  }
}

TEST(JobJson, AnEndWithoutEnergyHasNoKeyForIt) {
  const JobEvent ended{.job = 1, .what = JobEnded{.attempt = 1}};
  EXPECT_EQ(event_line(ended).find("energy"), std::string::npos);
  const auto old = parse_event(event_line(ended), "event 1");
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(std::get<JobEnded>(old->what).energy_joules, std::nullopt);
}

TEST(JobJson, BrokenEventsAreNamed) {
  EXPECT_EQ(parse_event("{", "event 9").error().message, "event 9: not JSON");
  EXPECT_EQ(parse_event(R"({"job":1,"at_s":0,"event":"fired"})", "event 9").error().message,
            "event 9: event: \"fired\" is not an event of a job");
  EXPECT_EQ(parse_event(R"({"job":1,"at_s":0,"event":"closed"})", "event 9").error().message,
            "event 9: end: is missing");
  EXPECT_NE(parse_event(R"({"job":1,"event":"submitted","spec":{"argv":[1]}})", "event 9")
                .error()
                .message.find("argv"),
            std::string::npos);
}

TEST(JobJson, WordsOfAJobThatAreNotUtf8AreMadeReadable) {
  JobEvent event{.job = 1, .what = JobClosed{.end = RunEnd::Failed, .reason = "\xff oops"}};
  EXPECT_NE(event_line(event).find(" oops"), std::string::npos);
  EXPECT_TRUE(parse_event(event_line(event), "e"));
}

}  // namespace
}  // namespace carpool
