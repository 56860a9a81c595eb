#include "serve/job_api.hpp"

#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

constexpr const char* kJob = R"({"argv": ["train"], "mem": "1G"})";

json value_of(const ApiAnswer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  return json::parse(answer.body);
}

// Status and kind of an error.
std::pair<int, std::string> refusal(const ApiAnswer& answer) {
  return {answer.status, json::parse(answer.body).at("error").at("kind")};
}

TEST(JobApi, AJobIsSubmittedStartedAndShown) {
  TestApi test;
  EXPECT_EQ(value_of(test->submit(caller_ann, kJob)).at("ids"), json({1}));
  test.settle();
  const json job = value_of(test->show(caller_ann, 1));
  EXPECT_EQ(job.at("state"), "running");
  EXPECT_EQ(job.at("user"), caller_ann.user);
  EXPECT_EQ(job.at("submitted_s"), TestApi::kNowSeconds);
  EXPECT_EQ(job.at("activity"), value_of(test->explain(caller_ann, 1)).at("belief").at("activity"));
  EXPECT_EQ(value_of(test->list(caller_ann, {})).at("jobs").size(), 1U);
  EXPECT_EQ(value_of(test->gpus(caller_ann)).at("gpus").at(0).at("jobs").at(0).at("id"), 1);
  EXPECT_EQ(value_of(test->explain(caller_ann, 1)).at("placed").at("gpus"), json::array({0}));
  const json status = value_of(test->status());
  EXPECT_EQ(status.at("carpool"), "1.2.3");
  EXPECT_EQ(status.at("mode"), "gpus");
  EXPECT_EQ(status.at("gpu_count"), 2);
  EXPECT_TRUE(status.at("slo_in_mps"));
  EXPECT_EQ(status.at("jobs").at("running"), 1);
}

TEST(JobApi, ABadSubmissionIsRejectedAndAnArrayAsAWhole) {
  TestApi test;
  EXPECT_EQ(refusal(test->submit(caller_ann, "{")),
            (std::pair<int, std::string>(400, "invalid-input")));
  EXPECT_EQ(refusal(test->submit(caller_ann, R"({"argv": ["x"], "gpus": 3})")).first, 400);
  EXPECT_EQ(
      refusal(test->submit(caller_ann, R"({"argv": ["x"], "gpus": 3, "array": "1-5"})")).first,
      400);
  EXPECT_TRUE(value_of(test->list(caller_ann, {{"state", "active"}})).at("jobs").empty());
}

TEST(JobApi, AHeldSubmissionWaitsAndIsChanged) {
  TestApi test;
  value_of(test->submit(caller_ann, kJob, {{"hold", "1"}}));
  test.settle();
  EXPECT_EQ(value_of(test->show(caller_ann, 1)).at("state"), "held");
  const char* change = R"({"time_s": 60, "mem": "2G", "priority": -5, "class": "best-effort"})";
  EXPECT_EQ(value_of(test->update(caller_ann, 1, change)).at("done"), "update");
  const json job = value_of(test->show(caller_ann, 1));
  EXPECT_EQ(job.at("time_s"), 60.0);
  EXPECT_EQ(job.at("asked_mem_bytes"), std::uint64_t{2} << 30U);
  EXPECT_EQ(job.at("priority"), -5);
  EXPECT_EQ(job.at("class"), "best-effort");
  EXPECT_EQ(refusal(test->update(caller_bob, 1, change)).first, 403);
  EXPECT_EQ(refusal(test->update(caller_ann, 1, R"({"priority": 5})")).first, 403);
  EXPECT_EQ(refusal(test->update(caller_ann, 1, R"({"class": "slo"})")).first, 403);
  EXPECT_EQ(value_of(test->update(caller_operator, 1, R"({"priority": 5})")).at("id"), 1);
  for (const char* wrong : {"",
                            "{}",
                            R"({"argv": ["x"]})",
                            R"({"mem": "auto"})",
                            R"({"time_s": null})",
                            R"({"class": "fast"})"}) {
    EXPECT_EQ(refusal(test->update(caller_ann, 1, wrong)).first, 400) << wrong;
  }
}

TEST(JobApi, AChangeOfTheClassTellsWhatItDoesToTheSlo) {
  TestApi test;
  value_of(test->submit(
      caller_operator, R"({"argv": ["x"], "class": "slo", "slo_ms": 20})", {{"hold", "1"}}));
  const auto remark = [&](const char* change) {
    return value_of(test->update(caller_operator, 1, change)).value("remark", "");
  };
  EXPECT_EQ(remark(R"({"priority": 1})"), "");
  EXPECT_EQ(remark(R"({"class": "slo"})"), "");
  EXPECT_EQ(remark(R"({"class": "best-effort"})"), "its SLO of 20 ms is dropped");
  EXPECT_EQ(remark(R"({"class": "normal"})"), "");
  EXPECT_TRUE(remark(R"({"class": "slo"})").starts_with("it states no latency"));
}

TEST(JobApi, OtherUsersMayNeitherSeeNorChangeAJob) {
  TestApi test;
  value_of(test->submit(caller_ann, kJob));
  test.settle();
  const std::pair<int, std::string> forbidden_answer(403, "forbidden");
  EXPECT_EQ(refusal(test->show(caller_bob, 1)), forbidden_answer);
  EXPECT_EQ(refusal(test->explain(caller_bob, 1)), forbidden_answer);
  EXPECT_EQ(refusal(test->logs(caller_bob, 1, {})), forbidden_answer);
  EXPECT_EQ(refusal(test->wait(caller_bob, 1, {{"wait_s", "600"}})), forbidden_answer);
  for (const char* verb : {"cancel", "hold", "release", "requeue"}) {
    EXPECT_EQ(refusal(test->act(caller_bob, 1, verb)), forbidden_answer) << verb;
  }
  EXPECT_EQ(refusal(test->drain(caller_bob, R"({"drain": true})")), forbidden_answer);
  EXPECT_EQ(value_of(test->show(caller_operator, 1)).at("state"), "running");
}

TEST(JobApi, AJobThatDoesNotExistIsNotFound) {
  TestApi test;
  const std::pair<int, std::string> missing(404, "not-found");
  EXPECT_EQ(refusal(test->show(caller_ann, 1)), missing);
  EXPECT_EQ(refusal(test->explain(caller_ann, 0)), missing);
  EXPECT_EQ(refusal(test->act(caller_ann, 99, "cancel")), missing);
  EXPECT_EQ(refusal(test->logs(caller_ann, 99, {})), missing);
}

TEST(JobApi, AnActionThatTheStateDoesNotAllowIsAConflict) {
  TestApi test;
  value_of(test->submit(caller_ann, kJob));
  test.settle();
  const std::pair<int, std::string> conflict_answer(409, "conflict");
  EXPECT_EQ(refusal(test->act(caller_ann, 1, "hold")), conflict_answer);  // it runs
  test.end(1, {.end = RunEnd::Succeeded, .code = 0, .at_s = TestApi::kNowSeconds});
  for (const char* verb : {"cancel", "hold", "release", "requeue"}) {
    EXPECT_EQ(refusal(test->act(caller_ann, 1, verb)), conflict_answer) << verb;
  }
}

TEST(JobApi, AHeldJobWaitsUntilItIsReleased) {
  TestApi test;
  EXPECT_EQ(value_of(test->drain(caller_operator, R"({"drain": true})")),
            json::parse(R"({"draining": true, "running": 0})"));
  value_of(test->submit(caller_ann, kJob));
  EXPECT_EQ(value_of(test->act(caller_ann, 1, "hold")),
            json::parse(R"({"id": 1, "done": "hold"})"));
  EXPECT_EQ(value_of(test->show(caller_ann, 1)).at("state"), "held");
  value_of(test->act(caller_ann, 1, "release"));
  test.settle();
  EXPECT_EQ(value_of(test->show(caller_ann, 1)).at("state"), "queued");  // still draining
  value_of(test->drain(caller_operator, R"({"drain": false})"));
  test.settle();
  EXPECT_EQ(value_of(test->show(caller_ann, 1)).at("state"), "running");
}

TEST(JobApi, DrainingNeedsABoolean) {
  TestApi test;
  for (const char* body : {"", "{}", "[]", R"({"drain": 1})", R"({"drain": true, "x": 1})"}) {
    EXPECT_EQ(refusal(test->drain(caller_operator, body)).first, 400) << body;
  }
}

TEST(JobApi, WaitingAnswersWhenTheJobEnds) {
  TestApi test;
  value_of(test->submit(caller_ann, kJob));
  test.settle();
  EXPECT_EQ(value_of(test->wait(caller_ann, 1, {{"wait_s", "0"}})).at("state"), "running");
  json seen;
  std::thread waiting([&] { seen = value_of(test->wait(caller_ann, 1, {{"wait_s", "60"}})); });
  test.end(1, {.end = RunEnd::Failed, .code = 3, .at_s = TestApi::kNowSeconds});
  waiting.join();
  EXPECT_EQ(seen.at("state"), "failed");
  EXPECT_EQ(seen.at("exit_code"), 3);
  EXPECT_EQ(refusal(test->wait(caller_ann, 1, {{"wait_s", "soon"}})).first, 400);
}

TEST(JobApi, WaitingEndsWhenTheServerStops) {
  TestApi test;
  value_of(test->submit(caller_ann, kJob));
  test.settle();
  std::thread waiting([&] {
    EXPECT_EQ(value_of(test->wait(caller_ann, 1, {{"wait_s", "60"}})).at("state"), "running");
  });
  test.events().close();
  waiting.join();
}

TEST(JobApi, LogsAreReadByStreamAndAttempt) {
  TestApi test;
  value_of(test->submit(caller_ann, kJob));
  test.settle();
  std::ofstream(test.folder() / "1.1.out") << "out";
  std::ofstream(test.folder() / "1.1.err") << "err";
  EXPECT_EQ(test->logs(caller_ann, 1, {}).body, "out");
  EXPECT_EQ(test->logs(caller_ann, 1, {{"stream", "stderr"}, {"offset", "1"}}).body, "rr");
  EXPECT_EQ(test->logs(caller_ann, 1, {{"limit", "2"}}).body, "ou");
  EXPECT_EQ(refusal(test->logs(caller_ann, 1, {{"attempt", "2"}})).first, 404);
  for (const auto& [key, value] : {std::pair("stream", "stdlog"),
                                   std::pair("offset", "-1"),
                                   std::pair("limit", "x"),
                                   std::pair("attempt", ""),
                                   std::pair("wait_s", "nan")}) {
    const ApiAnswer answer = test->logs(caller_ann, 1, {{key, value}});
    EXPECT_EQ(answer.status, 400) << key;
    EXPECT_NE(answer.body.find(key), std::string::npos) << answer.body;
  }
}

TEST(JobApi, HistoryComesFromTheJournal) {
  TestApi test;
  std::vector<JobEvent> events = {
      {.job = 1,
       .at_s = 1.0,
       .what = JobSubmitted{.spec = {.name = "old", .argv = {"train"}},
                            .owner = {.uid = caller_ann.uid, .user = caller_ann.user}}},
      {.job = 1, .at_s = 2.0, .what = JobClosed{.end = RunEnd::Cancelled, .reason = "cancelled"}}};
  ASSERT_TRUE(test.journal().append(events));
  const json own = value_of(test->history(caller_ann, {}));
  EXPECT_EQ(own.at("mode"), "gpus");
  ASSERT_EQ(own.at("jobs").size(), 1U);
  EXPECT_EQ(own.at("jobs").at(0).at("name"), "old");
  EXPECT_EQ(own.at("jobs").at(0).at("end"), "cancelled");
  EXPECT_TRUE(value_of(test->history(caller_bob, {})).at("jobs").empty());
  EXPECT_EQ(value_of(test->history(caller_bob, {{"all", "1"}})).at("jobs").size(), 1U);
  EXPECT_EQ(refusal(test->history(caller_ann, {{"limit", "x"}})).first, 400);
  EXPECT_EQ(value_of(test->show(caller_ann, 1)).at("state"), "cancelled");  // no longer in memory
}

// The scheduler keeps the latest of the jobs that have ended.
TEST(JobApi, AJobThatEndedLongAgoIsKnown) {
  TestApi test;
  std::vector<JobEvent> events = {
      {.job = 1,
       .at_s = 1.0,
       .what = JobSubmitted{.spec = {.argv = {"train"}},
                            .owner = {.uid = caller_ann.uid, .user = caller_ann.user}}},
      {.job = 1, .at_s = 2.0, .what = JobClosed{.end = RunEnd::Cancelled, .reason = "by u1000"}}};
  ASSERT_TRUE(test.journal().append(events));
  const std::pair<int, std::string> ended = {409, "conflict"};
  for (const char* verb : {"cancel", "hold", "release", "requeue"}) {
    EXPECT_EQ(refusal(test->act(caller_ann, 1, verb)), ended) << verb;
  }
  EXPECT_EQ(refusal(test->update(caller_ann, 1, R"({"time_s": 60})")), ended);
  EXPECT_EQ(value_of(test->explain(caller_ann, 1)).at("summary"), "Job 1 was cancelled: by u1000");
  EXPECT_EQ(refusal(test->explain(caller_bob, 1)).first, 403);
  EXPECT_EQ(refusal(test->explain(caller_ann, 2)).first, 404);
}

TEST(JobApi, StatusAndGpusTellWhatTheMachineCannotStart) {
  TestApi test;
  EXPECT_TRUE(value_of(test->status()).at("troubles").empty());
  ASSERT_EQ(test->submit(caller_ann, kJob).status, 200);
  test.settle();
  test.end(1,
           {.end = RunEnd::MachineTrouble,
            .detail = "start MPS on GPU-0: no answer",
            .scope = TroubleScope::Gpus});
  const json troubles = value_of(test->status()).at("troubles");
  ASSERT_EQ(troubles.size(), 1U);
  EXPECT_EQ(troubles.at(0).at("scope"), "gpus");
  EXPECT_EQ(troubles.at(0).at("gpu"), 0);
  EXPECT_EQ(troubles.at(0).at("reason"), "start MPS on GPU-0: no answer");
  EXPECT_EQ(troubles.at(0).at("next_try_s"), 1.0);
  const json gpus = value_of(test->gpus(caller_bob)).at("gpus");
  EXPECT_EQ(gpus.at(0).at("unusable"), "set aside for 1 s: start MPS on GPU-0: no answer");
  EXPECT_FALSE(gpus.at(1).contains("unusable"));
}

TEST(JobApi, ReasonsOfAnotherUsersTroubleAreNotShown) {
  TestApi test;
  ASSERT_EQ(test->submit(caller_ann, kJob).status, 200);
  test.settle();
  test.end(1,
           {.end = RunEnd::MachineTrouble,
            .detail = "/data/secret: no answer",
            .scope = TroubleScope::Job});
  EXPECT_EQ(test->status().body.find("secret"), std::string::npos);
  EXPECT_EQ(test->list(caller_bob, {{"all", "1"}}).body.find("secret"), std::string::npos);
  EXPECT_NE(test->explain(caller_ann, 1).body.find("secret"), std::string::npos);
}

TEST(JobApi, WithoutASchedulerEverythingIsUnavailable) {
  TestApi test;
  EXPECT_EQ(test->healthy().body, "ok\n");
  test.loop().stop();
  const std::pair<int, std::string> gone(503, "unavailable");
  EXPECT_EQ(refusal(test->healthy()), gone);
  EXPECT_EQ(refusal(test->status()), gone);
  EXPECT_EQ(refusal(test->metrics(caller_ann)), gone);
  EXPECT_EQ(refusal(test->submit(caller_ann, kJob)), gone);
}

}  // namespace
}  // namespace carpool::serve
