// Who computes and who stands still: scenarios on one or two GPUs.
#include <numeric>

#include <gtest/gtest.h>

#include "policy/tests/law_speeds.hpp"
#include "policy/tests/turn_world.hpp"

namespace carpool::policy {
namespace {

using Jobs = std::vector<JobId>;

std::string workload_of(JobId job) {
  return "job" + std::to_string(job);
}

// Ten jobs of 1 GiB that began to compute 1 s apart, the first at 1000 s.
TurnWorld ten_computing(const InterferenceModel& model) {
  TurnWorld world(model);
  world.gpu(140);
  for (JobId job = 1; job <= 10; ++job) {
    world.resident(0, job, workload_of(job));
    world.advance(1.0);
  }
  return world;
}

void learn(LawSpeeds& speeds, double activity) {
  for (JobId job = 1; job <= 10; ++job) {
    speeds.activity[workload_of(job)] = activity;
  }
}

TEST(Turns, TenJobsOfUnknownActivityComputeTogether) {
  const LawSpeeds speeds;
  TurnWorld world = ten_computing(speeds);
  EXPECT_TRUE(world.act().pause.empty());
}

// 6 members of activity 0.6 have a sum of 1.62, 7 of 1.65: the seventh adds less than 0.03.
TEST(Turns, WhatIsLearnedPausesTheNewestUntilOneEnds) {
  LawSpeeds speeds;
  TurnWorld world = ten_computing(speeds);
  learn(speeds, 0.6);
  world.advance(4.0);
  const PlacementDecision decision = world.act();
  EXPECT_EQ(world.in(ResidentPhase::Paused), (Jobs{7, 8, 9, 10}));
  for (const Pause& pause : decision.pause) {
    EXPECT_EQ(pause.cause, PauseCause::Turn);
  }
  world.advance(3.0);
  EXPECT_TRUE(world.act().resume.empty());
  world.end(2);
  EXPECT_EQ(world.act().resume.size(), 1);
  EXPECT_EQ(world.in(ResidentPhase::Computing), (Jobs{1, 3, 4, 5, 6, 7}));
}

TEST(Turns, AreDecidedOnlyOnTheGpusThatAreNamed) {
  LawSpeeds speeds;
  learn(speeds, 1.0);
  SnapshotBuilder cluster;
  for (int gpu = 0; gpu < 3; ++gpu) {
    GpuView& view = cluster.gpu(140);
    for (JobId job = 1; job <= 3; ++job) {
      Resident& resident = SnapshotBuilder::resident(view, workload_of(job), 1);
      resident.phase_since_s = 990.0 + static_cast<double>(job);
      resident.computed_s = 1000.0 - resident.phase_since_s;
    }
  }
  const auto policy = *make_placement_policy("carpool", default_settings("carpool"));
  ClusterSnapshot snapshot = cluster.snapshot();
  const PlacementDecision all = policy->decide(snapshot, speeds);
  EXPECT_EQ(all.pause.size(), 6U);
  ASSERT_EQ(all.turns_again.size(), 3U);
  const std::vector<std::size_t> second = {1};
  snapshot.turns_at = second;
  const PlacementDecision one = policy->decide(snapshot, speeds);
  ASSERT_EQ(one.pause.size(), 2U);
  EXPECT_EQ(one.pause[0].job, all.pause[2].job);
  ASSERT_EQ(one.turns_again.size(), 1U);
  EXPECT_EQ(one.turns_again[0].place, 1U);
  EXPECT_EQ(one.turns_again[0].after_s, all.turns_again[1].after_s);
  EXPECT_EQ(one.ask_again_s, one.turns_again[0].after_s);
}

TEST(Turns, AJobThatAppearsInAFullGroupIsPausedOnceItHasSetUp) {
  LawSpeeds speeds;
  learn(speeds, 1.0);
  TurnWorld world(speeds);
  world.gpu(140);
  world.resident(0, 1, workload_of(1));
  world.advance(100.0);
  world.resident(0, 2, workload_of(2)).phase = ResidentPhase::Starting;
  EXPECT_TRUE(world.act().pause.empty());
  world.appear(2);
  EXPECT_TRUE(world.act().pause.empty());
  EXPECT_LE(*world.act().ask_again_s, 4.1);
  world.advance(4.0);
  const PlacementDecision decision = world.act();
  ASSERT_EQ(decision.pause.size(), 1);
  EXPECT_EQ(decision.pause[0].job, 2);
  EXPECT_EQ(decision.pause[0].reason,
            "waits for its turn on GPU 0, where 1 job computes; goes on after 600 s at the latest");
  ASSERT_TRUE(decision.ask_again_s.has_value());
  world.advance(50.0);
  world.end(1);
  EXPECT_EQ(world.act().resume.at(0).reason, "no other job computes on GPU 0");
}

TEST(Turns, JobsStartAheadOfTheirTurnWhileNotTooManyWait) {
  LawSpeeds speeds;
  learn(speeds, 1.0);
  TurnWorld world(speeds);
  world.gpu(140);
  for (JobId job = 1; job <= 10; ++job) {
    world.queue(job, workload_of(job)).need_bytes = kTestGiB;
  }
  const PlacementDecision decision = world.act();
  // One computes usefully: 2 * 1 + 2 members.
  ASSERT_EQ(decision.place.size(), 4);
  EXPECT_EQ(decision.place[1].reason, "starts up beside 1 other and waits for its turn on GPU 0");
  EXPECT_EQ(decision.defer.at(0).constraint, Constraint::Interference);
  world.advance(10.0);
  for (JobId job = 1; job <= 4; ++job) {
    world.appear(job);
  }
  world.advance(4.0);
  EXPECT_EQ(world.act().pause.size(), 3);
  EXPECT_TRUE(world.act().place.empty());
  world.end(1);
  const PlacementDecision next = world.act();
  EXPECT_EQ(next.resume.at(0).job, 2);
  EXPECT_EQ(next.place.at(0).job, 5);
}

TEST(Turns, WithSeveralGpusAJobStartsAheadOnlyWhereAMemberEndsSoon) {
  LawSpeeds speeds;
  learn(speeds, 1.0);
  TurnWorld world(speeds);
  world.gpu(140);
  world.gpu(140);
  world.resident(0, 1, workload_of(1));
  world.resident(1, 2, workload_of(2));
  world.advance(100.0);
  world.queue(3, workload_of(3)).need_bytes = kTestGiB;
  EXPECT_TRUE(world.decide().place.empty());
  world.at(2).remaining_s = 10.0;
  EXPECT_EQ(world.decide().place.at(0).gpus, std::vector<unsigned>{1});
}

// The older one keeps 15 % of its speed beside the newer one, which keeps 95 %.
TEST(Turns, ABadPairIsUndoneOnceItIsKnownAndNotTriedAgain) {
  LawSpeeds speeds;
  TurnWorld world(speeds);
  world.gpu(140);
  world.resident(0, 1, "older");
  world.advance(60.0);
  world.resident(0, 2, "newer");
  EXPECT_TRUE(world.act().pause.empty());
  world.advance(5.0);
  speeds.planted[{"older", "newer"}] = 30.0;
  // The newer one is fresh, so it waits for its turn at once.
  EXPECT_EQ(world.act().pause.at(0).job, 2);
  for (int i = 0; i < 500; ++i) {
    world.advance(1.0);
    (void)world.act();
  }
  EXPECT_EQ(world.changes.size(), 1);

  speeds.planted.clear();
  TurnWorld late(speeds);
  late.gpu(140);
  late.resident(0, 1, "older");
  late.resident(0, 2, "newer").started_s = 10.0;
  late.advance(25.0);
  EXPECT_TRUE(late.act().pause.empty());
  speeds.planted[{"older", "newer"}] = 30.0;
  const PlacementDecision decision = late.act();
  ASSERT_EQ(decision.pause.size(), 1);
  EXPECT_EQ(decision.pause[0].job, 2);
  EXPECT_EQ(decision.pause[0].cause, PauseCause::Interference);
}

TEST(Turns, AtMostOnePauseForInterferenceAMinute) {
  LawSpeeds speeds;
  TurnWorld world = ten_computing(speeds);
  world.advance(20.0);
  learn(speeds, 1.0);  // 1 / (1 + 9 * 1.5): all members are below the floor
  EXPECT_EQ(world.act().pause.size(), 1);
  world.advance(59.0);
  EXPECT_TRUE(world.act().pause.empty());
  world.advance(1.0);
  EXPECT_EQ(world.act().pause.size(), 1);
  EXPECT_EQ(world.in(ResidentPhase::Paused), (Jobs{9, 10}));
}

TEST(Turns, NobodyIsPausedLongerThanTheBound) {
  LawSpeeds speeds;
  learn(speeds, 1.0);
  TurnWorld world(speeds);
  world.gpu(140);
  world.resident(0, 1, workload_of(1));
  world.advance(100.0);
  world.resident(0, 2, workload_of(2));
  world.advance(4.0);
  EXPECT_EQ(world.act().pause.size(), 1);
  world.advance(599.0);
  const PlacementDecision before = world.act();
  EXPECT_TRUE(before.resume.empty());
  EXPECT_NEAR(before.ask_again_s.value_or(0.0), 1.0, 1e-6);
  world.advance(1.0);
  const PlacementDecision decision = world.act();
  EXPECT_EQ(decision.resume.at(0).job, 2);
  EXPECT_EQ(decision.pause.at(0).job, 1);
  EXPECT_EQ(decision.pause.at(0).cause, PauseCause::Turn);
  // They go on taking turns.
  for (int i = 0; i < 1200; ++i) {
    world.advance(1.0);
    (void)world.act();
  }
  EXPECT_EQ(world.changes.size(), 7);
}

TEST(Turns, JobsWithALatencyTargetAndOnSeveralGpusAreNeverPaused) {
  LawSpeeds speeds;
  learn(speeds, 1.0);
  TurnWorld world(speeds);
  world.gpu(140);
  world.resident(0, 1, workload_of(1));
  world.resident(0, 2, workload_of(2)).job_class = JobClass::Slo;
  world.resident(0, 3, workload_of(3)).several_gpus = true;
  world.advance(30.0);
  EXPECT_EQ(world.act().pause.at(0).job, 1);
  world.advance(120.0);
  EXPECT_TRUE(world.act().pause.empty());
}

TEST(Turns, APauseForMemoryIsLeftToTheScheduler) {
  LawSpeeds speeds;
  TurnWorld world(speeds);
  world.gpu(140);
  Resident& resident = world.resident(0, 1, "job");
  resident.phase = ResidentPhase::Paused;
  resident.paused_for = PauseCause::Memory;
  world.advance(1000.0);
  EXPECT_TRUE(world.act().resume.empty());
}

TEST(Turns, AnEmptyQueueAndOneMemberNeedNoDecision) {
  LawSpeeds speeds;
  TurnWorld world(speeds);
  world.gpu(140);
  world.resident(0, 1, "job");
  const PlacementDecision decision = world.decide();
  EXPECT_TRUE(decision.pause.empty() && decision.resume.empty());
  EXPECT_FALSE(decision.ask_again_s.has_value());
}

TEST(Turns, ARefusedJobGetsItsTurnAfterHalfAnHour) {
  LawSpeeds speeds;
  speeds.activity = {{"a", 0.8}, {"b", 0.8}, {"c", 0.8}};
  TurnWorld world(speeds);
  world.gpu(40);
  world.gpu(40);
  for (JobId job = 1; job <= 4; ++job) {
    world.resident(static_cast<std::size_t>(job % 2), job, "a");
  }
  world.advance(100.0);
  world.queue(5, "c").need_bytes = kTestGiB;
  const PlacementDecision refused = world.decide();
  ASSERT_EQ(refused.defer.size(), 1);
  EXPECT_EQ(refused.defer[0].constraint, Constraint::Interference);
  EXPECT_NEAR(refused.ask_again_s.value_or(0.0), 1800.0, 1e-6);
  world.advance(1800.0 - 1e-9);
  EXPECT_EQ(world.decide().place.size(), 1);
}

}  // namespace
}  // namespace carpool::policy
