#include "schedule/explain.hpp"

#include <gtest/gtest.h>

#include "schedule/advice/belief_words.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

const StartingChange* change(const Explanation& explanation, StartingChange::Kind kind) {
  const auto found = std::ranges::find(explanation.changes, kind, &StartingChange::kind);
  return found == explanation.changes.end() ? nullptr : &*found;
}

TEST(Explain, SaysHowMuchLessMemoryWouldDo) {
  StubServer server;
  server.submit(stub_job(12, 300.0));
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  const auto why = explain(*server.scheduler, job);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->binding->constraint, Constraint::Memory);
  ASSERT_EQ(why->changes.front().kind, StartingChange::Kind::LessMemory);
  EXPECT_EQ(why->changes.front().need_bytes, 28 * kGiB);
  EXPECT_EQ(why->changes.front().words, "request 2 GiB less memory: 28 GiB instead of 30 GiB");
  ASSERT_EQ(why->candidates.size(), 1U);
  EXPECT_FALSE(why->candidates[0].takes_it);
  EXPECT_DOUBLE_EQ(why->candidates[0].forecast->progress, 0.5);
  EXPECT_EQ(why->summary, "Job 2 is waiting: no room for 30 GiB");
}

TEST(Explain, NamesTheJobToWaitFor) {
  StubServer server(2);
  const JobId longer = server.submit(stub_job(40, 500.0));
  const JobId shorter = server.submit(stub_job(40, 300.0));
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  const auto why = explain(*server.scheduler, job);
  const StartingChange* wait = change(*why, StartingChange::Kind::Wait);
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->until_ends, shorter);
  EXPECT_NE(wait->until_ends, longer);
  EXPECT_DOUBLE_EQ(*wait->wait_s, 300.0);
  EXPECT_EQ(change(*why, StartingChange::Kind::LessMemory), nullptr);
}

TEST(Explain, TellsNoChangeWhereOtherJobsStartUp) {
  StubServer server;
  server.submit(stub_job(10, 3600.0));
  server.step(0.0);
  server.policy.all_start = true;
  const JobId job = server.submit(stub_job(10));
  server.step(1.0);
  const auto why = explain(*server.scheduler, job);
  EXPECT_EQ(why->binding->constraint, Constraint::Machine);
  EXPECT_TRUE(why->changes.empty()) << why->changes.front().words;
}

TEST(Explain, PredictsNoSpeedBesideAJobThatSharesWithNone) {
  StubServer server;
  JobSpec alone = stub_job(10, 300.0);
  alone.exclusive = true;
  server.submit(alone);
  const JobId job = server.submit(stub_job(10));
  server.step(0.0);
  const auto why = explain(*server.scheduler, job);
  ASSERT_EQ(why->candidates.size(), 1U);
  EXPECT_FALSE(why->candidates[0].forecast);
  EXPECT_FALSE(why->candidates[0].worst_neighbour);
}

// Whether a policy lets jobs on several GPUs share is its own matter.
TEST(Explain, PredictsNothingForAJobOnSeveralGpusThatSharesWithNone) {
  StubServer server(2);
  server.submit(stub_job(10, 300.0));
  JobSpec spec = stub_job(10);
  spec.gpus = 2;
  const JobId wide = server.submit(spec);
  server.step(0.0);
  auto why = explain(*server.scheduler, wide);
  ASSERT_EQ(why->candidates.size(), 2U);
  EXPECT_FALSE(why->candidates[0].takes_it);
  EXPECT_FALSE(why->candidates[0].forecast);
  EXPECT_FALSE(why->candidates[0].worst_neighbour);
  EXPECT_EQ(why->candidates[0].reason, "not empty, and the job shares with none");
  EXPECT_TRUE(why->candidates[1].takes_it);
  server.policy.several_share = true;
  why = explain(*server.scheduler, wide);
  EXPECT_TRUE(why->candidates[0].takes_it);
  EXPECT_TRUE(why->candidates[0].forecast);
}

TEST(Explain, SuggestsSharingOrFewerGpus) {
  StubServer server(2);
  server.submit(stub_job(10));
  JobSpec spec = stub_job(10);
  spec.exclusive = true;
  spec.gpus = 2;
  const JobId wide = server.submit(spec);
  server.step(0.0);
  const auto why = explain(*server.scheduler, wide);
  const StartingChange* fewer = change(*why, StartingChange::Kind::FewerGpus);
  ASSERT_NE(fewer, nullptr);
  EXPECT_EQ(fewer->gpus, 1U);
  StubServer one;
  one.submit(stub_job(10));
  spec.gpus = 1;
  const JobId alone = one.submit(spec);
  one.step(0.0);
  EXPECT_NE(change(*explain(*one.scheduler, alone), StartingChange::Kind::NotExclusive), nullptr);
}

TEST(Explain, SaysTheStateOnce) {
  StubServer server;
  const JobId runs = server.submit(stub_job(10));
  const JobId held = server.submit(stub_job(10));
  ASSERT_TRUE(server.scheduler->hold(held, 0.0));
  server.step(0.0);
  EXPECT_EQ(explain(*server.scheduler, runs)->summary, "Job 1 is running");
  EXPECT_TRUE(explain(*server.scheduler, runs)->placed);
  EXPECT_EQ(explain(*server.scheduler, held)->summary,
            "Job 2 is waiting: held until it is released");
  EXPECT_TRUE(explain(*server.scheduler, held)->changes.empty());
  EXPECT_FALSE(explain(*server.scheduler, 99));
  server.end(runs, {.end = RunEnd::Failed, .code = 3}, 1.0);
  EXPECT_EQ(explain(*server.scheduler, runs)->summary, "Job 1 failed: exit status 3");
  ASSERT_TRUE(server.scheduler->cancel(held, "ann", 2.0));
  EXPECT_EQ(explain(*server.scheduler, held)->summary, "Job 2 was cancelled: cancelled by ann");
}

// Has seen one workload for nine seconds.
class BelievingInterference final : public InterferenceModel {
 public:
  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override {
    return std::vector<double>(group.size(), 0.78);
  }
  [[nodiscard]] std::optional<double> sm_active(const std::string& /*workload*/) const override {
    return 0.6;
  }
  [[nodiscard]] bool knows(const std::string& /*workload*/) const override { return true; }
  [[nodiscard]] std::optional<WorkloadBelief> belief(const std::string& workload) const override {
    if (workload == "beside others") {
      return WorkloadBelief{.sm_active = 0.3,
                            .assumed_sm_active = 0.35,
                            .window = WorkloadBelief::Window{.sm_active = 0.3, .over_s = 3.0}};
    }
    if (workload != "seen") {
      return std::nullopt;
    }
    return WorkloadBelief{
        .sm_active = 0.22,
        .sm_active90 = {.low = 0.18, .high = 0.26},
        .assumed_sm_active = 0.35,
        .window = WorkloadBelief::Window{.sm_active = 0.2, .over_s = 3.0, .alone = true},
        .measured_s = 9.0,
        .alone = true,
        .solo_rate = 3.0};
  }
};

TEST(BeliefWords, SayWhatWasAssumedAndWhatWasMeasured) {
  const BelievingInterference model;
  EXPECT_EQ(activity_words(model, "seen"),
            "assumed 35 % of a GPU until seen; kernel window of 3 s: 20 %; measured 22 % (18 to "
            "26 %) after 9 s");
  EXPECT_EQ(activity_words(model, "beside others"),
            "assumed 35 % of a GPU until seen; kernel window of 3 s beside other jobs: 30 %");
  EXPECT_EQ(activity_words(model, "other"), "uses 60 % of a GPU by the model");
  const StubInterference none;
  EXPECT_EQ(activity_words(none, "other"), "how much of a GPU it uses is not known");
}

TEST(BeliefWords, SayWhereAMemoryNeedComesFrom) {
  const JobAttempt attempt{.start = {.cap_bytes = 34 * kGiB}};
  const Resident resident{.reserved_bytes = 4 * kGiB, .used_bytes = 3 * kGiB, .computed_s = 8.0};
  QueuedJob job;
  EXPECT_EQ(memory_words(job, &attempt, &resident),
            "unknown; capped at 34 GiB; measured 3 GiB after 8 s; 4 GiB are reserved for it now");
  const JobAttempt divided{.start = {.cap_bytes = 34 * kGiB, .processes = 4}};
  EXPECT_EQ(memory_words(job, &divided, nullptr),
            "unknown; capped at 34 GiB, 8.5 GiB for each of 4 processes");
  job.need_bytes = 10 * kGiB;
  job.need_basis = NeedBasis::Finished;
  EXPECT_EQ(memory_words(job, nullptr, nullptr), "10 GiB by finished runs");
}

TEST(BeliefWords, SayHowSureAPredictionIs) {
  EXPECT_EQ(forecast_words({.progress = 0.78,
                            .interval90 = {.low = 0.65, .high = 0.9},
                            .basis = ProgressForecast::Basis::Measured}),
            "78 % of its solo speed (65 to 90 %), this group was measured");
  EXPECT_EQ(forecast_words({.progress = 0.5}),
            "50 % of its solo speed, assumed: it was not seen yet");
}

TEST(Explain, TellsWhatIsBelievedOfARunningJobAndItsGroup) {
  StubServer server;
  const JobId first = server.submit(stub_job(10));
  const JobId second = server.submit(stub_job(10));
  server.step(0.0);
  server.see({{first, 4}, {second, 5}}, 1.0);
  const auto why = explain(*server.scheduler, second);
  EXPECT_DOUBLE_EQ(why->progress->progress, 0.5);
  EXPECT_EQ(why->memory, "told 10 GiB; measured 5 GiB after 0 s; 10 GiB are reserved for it now");
  EXPECT_EQ(why->activity, "how much of a GPU it uses is not known");
}

}  // namespace
}  // namespace carpool::schedule
