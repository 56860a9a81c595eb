#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "serve/tests/test_api.hpp"
#include "serve/usage/usage_table.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

constexpr std::uint64_t kUsageGiB = std::uint64_t{1} << 30U;

JobAttempt attempt(double started_s, std::optional<double> ended_s, unsigned gpus = 1) {
  JobAttempt made;
  made.start.gpus.assign(gpus, 0);
  made.start.mechanism = ShareMechanism::Mps;
  made.start.reserved_bytes = 2 * kUsageGiB;
  made.started_s = started_s;
  made.ended_s = ended_s;
  return made;
}

JobRecord job_of(const Caller& owner, std::vector<JobAttempt> attempts, JobId id = 1) {
  return {.id = id,
          .spec = {.name = "train"},
          .owner = {.uid = owner.uid, .user = owner.user},
          .attempts = std::move(attempts)};
}

TEST(Usage, IsTimeTimesGpusAndWhatTheSpeedDelivers) {
  JobAttempt first = attempt(100.0, 200.0, 2);  // held 200, paused for a quarter, half speed
  first.paused_s = 25.0;
  first.progress = 0.5;
  first.start.predicted_progress = 0.9;  // what was seen goes before what was predicted
  first.peak_bytes = kUsageGiB;
  JobAttempt second = attempt(300.0, std::nullopt);  // runs: held 100
  second.start.predicted_progress = 0.8;
  const UsageAmounts amounts =
      usage_of(job_of(caller_ann, {first, second}), {.from_s = 0.0, .until_s = 400.0});
  EXPECT_EQ(amounts.jobs, 1U);
  EXPECT_EQ(amounts.attempts, 2U);
  EXPECT_DOUBLE_EQ(amounts.held_s, 300.0);
  EXPECT_DOUBLE_EQ(amounts.delivered_s, 200.0 * 0.75 * 0.5 + 100.0 * 0.8);
  EXPECT_DOUBLE_EQ(amounts.unknown_s, 0.0);
  EXPECT_DOUBLE_EQ(amounts.reserved_byte_s, 300.0 * 2.0 * static_cast<double>(kUsageGiB));
  EXPECT_EQ(amounts.peak_bytes, kUsageGiB);
}

TEST(Usage, AnUnknownSpeedIsStatedAndASoloJobRunsAtSoloSpeed) {
  JobAttempt solo = attempt(0.0, 10.0);
  solo.start.mechanism = ShareMechanism::None;
  const UsageAmounts amounts =
      usage_of(job_of(caller_ann, {attempt(0.0, 70.0), solo}), {.from_s = 0.0, .until_s = 400.0});
  EXPECT_DOUBLE_EQ(amounts.unknown_s, 70.0);
  EXPECT_DOUBLE_EQ(amounts.delivered_s, 10.0);
  EXPECT_EQ(amounts.peak_bytes, std::nullopt);
}

TEST(Usage, AttemptsCountAsFarAsTheyAreInTheSpan) {
  const UsageSpan span{.from_s = 150.0, .until_s = 400.0};
  const auto held = [&](double from_s, std::optional<double> until_s) {
    return usage_of(job_of(caller_ann, {attempt(from_s, until_s)}), span).held_s;
  };
  EXPECT_DOUBLE_EQ(held(100.0, 200.0), 50.0);
  EXPECT_DOUBLE_EQ(held(100.0, 120.0), 0.0);
  EXPECT_DOUBLE_EQ(held(100.0, std::nullopt), 250.0);
  EXPECT_DOUBLE_EQ(held(390.0, 500.0), 10.0);
  EXPECT_DOUBLE_EQ(held(450.0, 500.0), 0.0);
  EXPECT_EQ(usage_of(job_of(caller_ann, {attempt(450.0, 500.0)}), span).jobs, 0U);
}

TEST(Usage, EnergyIsAddedUpWhereItIsKnownAndCountsEvenlyOverTheAttempt) {
  JobAttempt known = attempt(100.0, 200.0);
  known.energy_joules = 1000.0;
  const JobRecord job =
      job_of(caller_ann, {known, attempt(200.0, 230.0), attempt(300.0, std::nullopt)});
  UsageAmounts amounts =
      usage_of(job, {.from_s = 0.0, .until_s = 400.0}, {.energy_joules = 500.0, .peak_bytes = 7});
  EXPECT_DOUBLE_EQ(*amounts.energy_joules, 1500.0);
  EXPECT_EQ(amounts.peak_bytes, 7U);
  EXPECT_DOUBLE_EQ(amounts.energy_unknown_s, 30.0);
  amounts = usage_of(job, {.from_s = 150.0, .until_s = 400.0});
  EXPECT_DOUBLE_EQ(*amounts.energy_joules, 500.0);
  EXPECT_DOUBLE_EQ(amounts.energy_unknown_s, 130.0);
  UsageTable table(UsageBy::Job, caller_ann);
  table.add(job, amounts);
  const JobRecord dark = job_of(caller_ann, {attempt(0.0, 10.0)}, 2);
  table.add(dark, usage_of(dark, {.from_s = 0.0, .until_s = 400.0}));
  const json view = table.view();
  EXPECT_EQ(view.at("rows").at(0).at("energy_j"), 500.0);
  EXPECT_FALSE(view.at("rows").at(1).contains("energy_j"));
}

TEST(Usage, OfOtherUsersOnlyTheSumIsShown) {
  const UsageSpan span{.from_s = 0.0, .until_s = 400.0};
  for (const Caller& caller : {caller_ann, caller_operator}) {
    UsageTable table(UsageBy::User, caller);
    for (const Caller& owner : {caller_ann, caller_bob}) {
      const JobRecord job =
          job_of(owner, {attempt(0.0, owner.uid == caller_bob.uid ? 50.0 : 10.0)});
      table.add(job, usage_of(job, span));
    }
    const json view = table.view();
    EXPECT_EQ(view.at("total").at("gpu_held_s"), 60.0);
    if (caller.operates) {
      ASSERT_EQ(view.at("rows").size(), 2U);
      EXPECT_EQ(view.at("rows").at(0).at("user"), "u1001");  // it held more
      EXPECT_FALSE(view.contains("others"));
    } else {
      ASSERT_EQ(view.at("rows").size(), 1U);
      EXPECT_EQ(view.at("rows").at(0).at("user"), "u1000");
      EXPECT_EQ(view.at("others"),
                json::parse(R"({"users": 1, "jobs": 1, "attempts": 1, "gpu_held_s": 50.0})"));
    }
  }
}

TEST(Usage, TheJobsThatHeldTheMostAreShownAndTheOthersAddedUp) {
  UsageTable table(UsageBy::Job, caller_ann);
  constexpr auto kJobs = static_cast<JobId>(3 * UsageTable::kMostRows);
  for (JobId id = 1; id <= kJobs; ++id) {
    const JobRecord job = job_of(caller_ann, {attempt(0.0, static_cast<double>(id))}, id);
    table.add(job, usage_of(job, {.from_s = 0.0, .until_s = 1e6}));
  }
  const json view = table.view();
  ASSERT_EQ(view.at("rows").size(), UsageTable::kMostRows);
  EXPECT_EQ(view.at("rows").front().at("id"), kJobs);
  EXPECT_EQ(view.at("rows").back().at("id"), kJobs - 999);
  EXPECT_EQ(view.at("left_out").at("rows"), 2000);
  EXPECT_EQ(view.at("left_out").at("gpu_held_s"), 2000.0 * 2001.0 / 2.0);
  EXPECT_EQ(view.at("total").at("jobs"), kJobs);
}

TEST(UsageApi, AddsUpTheJournalAndWhatRuns) {
  TestApi api;
  EXPECT_EQ(api->submit(caller_ann, R"({"argv": ["x"], "mem": "1G"})").status, 200);
  api.settle();
  const JobOwner bob{.uid = caller_bob.uid, .user = caller_bob.user};
  std::vector<JobEvent> events;
  for (JobId id = 100; id < 400; ++id) {
    events.push_back({.job = id, .at_s = 10.0, .what = JobSubmitted{{.argv = {"y"}}, bob}});
    events.push_back({.job = id, .at_s = 20.0, .what = JobStarted{.attempt = 1, .gpus = {0}}});
    events.push_back({.job = id, .at_s = 30.0, .what = JobEnded{.attempt = 1, .progress = 0.5}});
    events.push_back({.job = id, .at_s = 30.0, .what = JobClosed{}});
  }
  ASSERT_TRUE(api.journal().append(events));
  const auto usage = [&](const Caller& caller, const ApiQuery& query) {
    const ApiAnswer answer = api->usage(caller, query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body);
  };
  const json all = usage(caller_bob, {});
  EXPECT_EQ(all.at("rows").at(0).at("gpu_held_s"), 3000.0);
  EXPECT_EQ(all.at("rows").at(0).at("gpu_delivered_s"), 1500.0);
  EXPECT_EQ(all.at("others").at("jobs"), 1);
  EXPECT_EQ(all.at("until_s"), TestApi::kNowSeconds);
  EXPECT_EQ(usage(caller_bob, {{"since_s", "25"}}).at("rows").at(0).at("gpu_held_s"), 1500.0);
  EXPECT_TRUE(usage(caller_bob, {{"since_s", "31"}}).at("rows").empty());
  EXPECT_EQ(usage(caller_operator, {{"by", "job"}}).at("rows").size(), 301U);
  EXPECT_EQ(api->usage(caller_bob, {{"by", "gpu"}}).status, 400);
  EXPECT_EQ(api->usage(caller_bob, {{"since_s", "yesterday"}}).status, 400);
}

}  // namespace
}  // namespace carpool::serve
