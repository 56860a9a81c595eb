#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "serve/advice/dry_run_view.hpp"
#include "serve/job_api.hpp"
#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

constexpr const char* kLarge = R"({"argv": ["train"], "name": "secret", "mem": "30G",
                                   "runtime_s": 300})";
constexpr const char* kSmall = R"({"argv": ["python", "p/train.py"], "mem": "5G"})";

json parsed(const ApiAnswer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  return json::parse(answer.body);
}

// Every answer of the API that a change could show in.
json all_answers(TestApi& test) {
  json all = {{"status", parsed(test->status())},
              {"jobs", parsed(test->list(caller_operator, {{"all", "1"}}))},
              {"gpus", parsed(test->gpus(caller_operator))},
              {"history", parsed(test->history(caller_operator, {}))},
              {"last", *test.journal().last_job()},
              {"event", test.events().last()}};
  for (const json& job : all.at("jobs").at("jobs")) {
    all["why"].push_back(parsed(test->explain(caller_operator, job.at("id"))));
  }
  return all;
}

TEST(DryRunApi, SaysWhereBesideWhomAndHowFastAndChangesNothing) {
  TestApi test(1);
  parsed(test->submit(caller_ann, kLarge));
  test.settle();
  const json before = all_answers(test);
  const json answer = parsed(test->dry_run(caller_ann, kSmall));
  EXPECT_EQ(all_answers(test), before);
  EXPECT_EQ(answer.at("accepted"), true);
  EXPECT_EQ(answer.at("starts_now"), true);
  EXPECT_EQ(answer.at("summary"), "Would start now on GPU 0, beside job 1");
  EXPECT_EQ(answer.at("placement").at("gpus"), json::array({0}));
  EXPECT_EQ(answer.at("memory").at("basis"), "told");
  EXPECT_EQ(answer.at("memory").at("need_bytes"), std::uint64_t{5} << 30U);
  EXPECT_EQ(answer.at("prediction").at("progress"), 0.5);
  const json& neighbour = answer.at("neighbours").at(0);
  EXPECT_EQ(neighbour.at("id"), 1);
  EXPECT_EQ(neighbour.at("name"), "secret");
  EXPECT_EQ(neighbour.at("prediction_now").at("progress"), 1.0);
  EXPECT_EQ(neighbour.at("prediction").at("progress"), 0.5);
  parsed(test->submit(caller_ann, kSmall));
  test.settle();
  EXPECT_EQ(parsed(test->show(caller_ann, 2)).at("gpus"), json::array({0}));
}

TEST(DryRunApi, NamesOtherUsersJobsByNumberOnly) {
  TestApi test(1);
  parsed(test->submit(caller_ann, kLarge));
  test.settle();
  const ApiAnswer answer = test->dry_run(caller_bob, kSmall);
  EXPECT_EQ(parsed(answer).at("neighbours").at(0).at("user"), caller_ann.user);
  EXPECT_EQ(answer.body.find("secret"), std::string::npos);
}

TEST(DryRunApi, SaysWhyAJobWouldWaitAndUntilWhen) {
  TestApi test(1);
  parsed(test->submit(caller_ann, kLarge));
  test.settle();
  const json answer = parsed(test->dry_run(caller_ann, R"({"argv": ["x"], "mem": "20G"})"));
  EXPECT_EQ(answer.at("starts_now"), false);
  EXPECT_EQ(answer.at("summary"), "Would wait: no room for 20 GiB");
  EXPECT_EQ(answer.at("constraint"), "memory");
  EXPECT_EQ(answer.at("earliest_start_in_s"), 300.0);
  EXPECT_EQ(answer.at("earliest_after_job"), 1);
  EXPECT_EQ(answer.at("changes").at(0).at("change"), "mem");
  EXPECT_FALSE(answer.contains("placement"));
  const json held = parsed(test->dry_run(caller_ann, kSmall, {{"hold", "1"}}));
  EXPECT_EQ(held.at("reason"), "held until it is released");
}

TEST(DryRunApi, RefusesAsASubmissionDoes) {
  TestApi test;
  for (const char* wrong : {"{", R"({"argv": []})", R"({"argv": ["x"], "gpus": 3})"}) {
    EXPECT_EQ(test->dry_run(caller_ann, wrong).body, test->submit(caller_ann, wrong).body);
    EXPECT_EQ(test->dry_run(caller_ann, wrong).status, 400) << wrong;
  }
  EXPECT_EQ(test->dry_run(caller_ann, R"({"argv": ["x"], "priority": 9})").status, 403);
  EXPECT_EQ(parsed(test->dry_run(caller_ann, R"({"argv": ["x"], "array": "0-4"})")).at("jobs"), 5);
}

TEST(DryRunView, OfAUserWithoutAPlaceSaysThatAndWhereTheJobWouldGo) {
  const schedule::StubServer server;
  const auto answer = schedule::dry_run(
      *server.scheduler, schedule::stub_job(1), {.uid = 1000, .user = "u1000"}, false);
  ASSERT_TRUE(answer);
  const json view = dry_run_view(
      *answer, *server.scheduler, caller_ann, 1, fail(ErrorCode::LimitReached, "too many jobs"));
  EXPECT_EQ(view.at("accepted"), false);
  EXPECT_EQ(view.at("starts_now"), false);
  EXPECT_EQ(view.at("summary"), "Would be refused: too many jobs");
  EXPECT_EQ(view.at("refusal").at("kind"), "limit-reached");
  EXPECT_EQ(view.at("placement").at("gpus"), json::array({0}));
}

TEST(DryRunView, GivesTheJobThatIsNotSubmittedNoNumber) {
  schedule::StubServer server(1);
  schedule::CandidateGpu candidate;
  candidate.latencies = {{.job = 1, .goal = {.slo_ms = 20.0}}, {.job = 2, .goal = {.slo_ms = 5.0}}};
  schedule::DryRun answer{.candidates = {candidate}};
  answer.arrival.job.job = 2;
  answer.arrival.waits.emplace();
  const json view = dry_run_view(answer, *server.scheduler, caller_ann, 1, Result<void>());
  const json& latencies = view.at("candidates").at(0).at("latencies");
  EXPECT_EQ(latencies.at(0).at("job"), 1);
  EXPECT_FALSE(latencies.at(1).contains("job"));
  EXPECT_EQ(latencies.at(1).at("slo_ms"), 5.0);
}

TEST(DryRunApi, AnExplanationTeachesWhatIsMissing) {
  TestApi test(1);
  parsed(test->submit(caller_ann, kLarge));
  parsed(test->submit(caller_ann, R"({"argv": ["x"]})"));
  test.settle();
  const json lesson = parsed(test->explain(caller_ann, 2)).at("lesson");
  EXPECT_FALSE(lesson.at("assumed").empty());
  EXPECT_FALSE(lesson.at("changes").empty());
  EXPECT_EQ(lesson.at("command"), "carpool update --mem 10G 2");
}

}  // namespace
}  // namespace carpool::serve
