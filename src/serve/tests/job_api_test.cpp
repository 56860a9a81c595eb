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
  EXPECT_EQ(value_of(test->submit(kAnn, kJob)).at("ids"), json({1}));
  test.settle();
  const json job = value_of(test->show(kAnn, 1));
  EXPECT_EQ(job.at("state"), "running");
  EXPECT_EQ(job.at("user"), kAnn.user);
  EXPECT_EQ(job.at("submitted_s"), TestApi::kNow_s);
  EXPECT_EQ(value_of(test->list(kAnn, {})).at("jobs").size(), 1U);
  EXPECT_EQ(value_of(test->gpus(kAnn)).at("gpus").at(0).at("jobs").at(0).at("id"), 1);
  EXPECT_EQ(value_of(test->explain(kAnn, 1)).at("placed").at("gpus"), json({0}));
  const json status = value_of(test->status());
  EXPECT_EQ(status.at("carpool"), "1.2.3");
  EXPECT_EQ(status.at("mode"), "gpus");
  EXPECT_EQ(status.at("gpu_count"), 2);
  EXPECT_EQ(status.at("jobs").at("running"), 1);
}

TEST(JobApi, ABadSubmissionIsRejectedAndAnArrayAsAWhole) {
  TestApi test;
  EXPECT_EQ(refusal(test->submit(kAnn, "{")), (std::pair<int, std::string>(400, "invalid-input")));
  EXPECT_EQ(refusal(test->submit(kAnn, R"({"argv": ["x"], "gpus": 3})")).first, 400);
  EXPECT_EQ(refusal(test->submit(kAnn, R"({"argv": ["x"], "gpus": 3, "array": "1-5"})")).first,
            400);
  EXPECT_TRUE(value_of(test->list(kAnn, {{"state", "active"}})).at("jobs").empty());
}

TEST(JobApi, OtherUsersMayNeitherSeeNorChangeAJob) {
  TestApi test;
  value_of(test->submit(kAnn, kJob));
  test.settle();
  const std::pair<int, std::string> forbidden_answer(403, "forbidden");
  EXPECT_EQ(refusal(test->show(kBob, 1)), forbidden_answer);
  EXPECT_EQ(refusal(test->explain(kBob, 1)), forbidden_answer);
  EXPECT_EQ(refusal(test->logs(kBob, 1, {})), forbidden_answer);
  EXPECT_EQ(refusal(test->wait(kBob, 1, {{"wait_s", "600"}})), forbidden_answer);
  for (const char* verb : {"cancel", "hold", "release", "requeue"}) {
    EXPECT_EQ(refusal(test->act(kBob, 1, verb)), forbidden_answer) << verb;
  }
  EXPECT_EQ(refusal(test->drain(kBob, R"({"drain": true})")), forbidden_answer);
  EXPECT_EQ(value_of(test->show(kOperator, 1)).at("state"), "running");
}

TEST(JobApi, AJobThatDoesNotExistIsNotFound) {
  TestApi test;
  const std::pair<int, std::string> missing(404, "not-found");
  EXPECT_EQ(refusal(test->show(kAnn, 1)), missing);
  EXPECT_EQ(refusal(test->explain(kAnn, 0)), missing);
  EXPECT_EQ(refusal(test->act(kAnn, 99, "cancel")), missing);
  EXPECT_EQ(refusal(test->logs(kAnn, 99, {})), missing);
}

TEST(JobApi, AnActionThatTheStateDoesNotAllowIsAConflict) {
  TestApi test;
  value_of(test->submit(kAnn, kJob));
  test.settle();
  const std::pair<int, std::string> conflict_answer(409, "conflict");
  EXPECT_EQ(refusal(test->act(kAnn, 1, "hold")), conflict_answer);  // it runs
  test.end(1, {.end = RunEnd::Succeeded, .code = 0, .at_s = TestApi::kNow_s});
  for (const char* verb : {"cancel", "hold", "release", "requeue"}) {
    EXPECT_EQ(refusal(test->act(kAnn, 1, verb)), conflict_answer) << verb;
  }
}

TEST(JobApi, AHeldJobWaitsUntilItIsReleased) {
  TestApi test;
  EXPECT_EQ(value_of(test->drain(kOperator, R"({"drain": true})")),
            json::parse(R"({"draining": true, "running": 0})"));
  value_of(test->submit(kAnn, kJob));
  EXPECT_EQ(value_of(test->act(kAnn, 1, "hold")), json::parse(R"({"id": 1, "done": "hold"})"));
  EXPECT_EQ(value_of(test->show(kAnn, 1)).at("state"), "held");
  value_of(test->act(kAnn, 1, "release"));
  test.settle();
  EXPECT_EQ(value_of(test->show(kAnn, 1)).at("state"), "queued");  // still draining
  value_of(test->drain(kOperator, R"({"drain": false})"));
  test.settle();
  EXPECT_EQ(value_of(test->show(kAnn, 1)).at("state"), "running");
}

TEST(JobApi, DrainingNeedsABoolean) {
  TestApi test;
  for (const char* body : {"", "{}", "[]", R"({"drain": 1})", R"({"drain": true, "x": 1})"}) {
    EXPECT_EQ(refusal(test->drain(kOperator, body)).first, 400) << body;
  }
}

TEST(JobApi, WaitingAnswersWhenTheJobEnds) {
  TestApi test;
  value_of(test->submit(kAnn, kJob));
  test.settle();
  EXPECT_EQ(value_of(test->wait(kAnn, 1, {{"wait_s", "0"}})).at("state"), "running");
  json seen;
  std::thread waiting([&] { seen = value_of(test->wait(kAnn, 1, {{"wait_s", "60"}})); });
  test.end(1, {.end = RunEnd::Failed, .code = 3, .at_s = TestApi::kNow_s});
  waiting.join();
  EXPECT_EQ(seen.at("state"), "failed");
  EXPECT_EQ(seen.at("exit_code"), 3);
  EXPECT_EQ(refusal(test->wait(kAnn, 1, {{"wait_s", "soon"}})).first, 400);
}

TEST(JobApi, WaitingEndsWhenTheServerStops) {
  TestApi test;
  value_of(test->submit(kAnn, kJob));
  test.settle();
  std::thread waiting(
      [&] { EXPECT_EQ(value_of(test->wait(kAnn, 1, {{"wait_s", "60"}})).at("state"), "running"); });
  test.events().close();
  waiting.join();
}

TEST(JobApi, LogsAreReadByStreamAndAttempt) {
  TestApi test;
  value_of(test->submit(kAnn, kJob));
  test.settle();
  std::ofstream(test.folder() / "1.1.out") << "out";
  std::ofstream(test.folder() / "1.1.err") << "err";
  EXPECT_EQ(test->logs(kAnn, 1, {}).body, "out");
  EXPECT_EQ(test->logs(kAnn, 1, {{"stream", "stderr"}, {"offset", "1"}}).body, "rr");
  EXPECT_EQ(test->logs(kAnn, 1, {{"limit", "2"}}).body, "ou");
  EXPECT_EQ(refusal(test->logs(kAnn, 1, {{"attempt", "2"}})).first, 404);
  for (const auto& [key, value] : {std::pair("stream", "stdlog"),
                                   std::pair("offset", "-1"),
                                   std::pair("limit", "x"),
                                   std::pair("attempt", ""),
                                   std::pair("wait_s", "nan")}) {
    const ApiAnswer answer = test->logs(kAnn, 1, {{key, value}});
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
                            .owner = {.uid = kAnn.uid, .user = kAnn.user}}},
      {.job = 1, .at_s = 2.0, .what = JobClosed{.end = RunEnd::Cancelled, .reason = "cancelled"}}};
  ASSERT_TRUE(test.journal().append(events));
  const json own = value_of(test->history(kAnn, {}));
  EXPECT_EQ(own.at("mode"), "gpus");
  ASSERT_EQ(own.at("jobs").size(), 1U);
  EXPECT_EQ(own.at("jobs").at(0).at("name"), "old");
  EXPECT_EQ(own.at("jobs").at(0).at("end"), "cancelled");
  EXPECT_TRUE(value_of(test->history(kBob, {})).at("jobs").empty());
  EXPECT_EQ(value_of(test->history(kBob, {{"all", "1"}})).at("jobs").size(), 1U);
  EXPECT_EQ(refusal(test->history(kAnn, {{"limit", "x"}})).first, 400);
  EXPECT_EQ(value_of(test->show(kAnn, 1)).at("state"), "cancelled");  // no longer in memory
}

TEST(JobApi, WithoutASchedulerEverythingIsUnavailable) {
  TestApi test;
  EXPECT_EQ(test->healthy().body, "ok\n");
  test.loop().stop();
  const std::pair<int, std::string> gone(503, "unavailable");
  EXPECT_EQ(refusal(test->healthy()), gone);
  EXPECT_EQ(refusal(test->status()), gone);
  EXPECT_EQ(refusal(test->metrics()), gone);
  EXPECT_EQ(refusal(test->submit(kAnn, kJob)), gone);
}

}  // namespace
}  // namespace carpool::serve
