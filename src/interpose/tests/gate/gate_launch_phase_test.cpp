// How long best-effort work may go on while a request is launched.
#include <algorithm>

#include <gtest/gtest.h>

#include "interpose/tests/gate/sliced_gpu.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr Nanoseconds kPromised = 20 * kMillisecond;
constexpr Nanoseconds kMostDelay = kPromised / 25;

LaunchPhaseResult after_many(const LaunchingProgram& program,
                             Nanoseconds slo = kPromised,
                             Nanoseconds tail = 0) {
  const LaunchPhaseResult result = serve_many(program, slo, tail);
  EXPECT_EQ(result.open_first, 0);
  return result;
}

constexpr Nanoseconds kTolerance = 300 * kMicrosecond;  // buckets, and tries with a little more

TEST(GateLaunchPhase, IsOpenWhileTheHostIsSlow) {
  const LaunchPhaseResult slow = after_many(
      {.commands = 300, .each_launch = 40 * kMicrosecond, .each_kernel = 10 * kMicrosecond});
  EXPECT_GT(slow.open, 0.6);
  EXPECT_LE(slow.beside, slow.alone + kMostDelay + kTolerance);
}

TEST(GateLaunchPhase, IsOpenForLessWhereTheGpuHasMoreToDo) {
  const LaunchPhaseResult light = after_many(
      {.commands = 300, .each_launch = 40 * kMicrosecond, .each_kernel = 10 * kMicrosecond});
  const LaunchPhaseResult heavy = after_many(
      {.commands = 300, .each_launch = 40 * kMicrosecond, .each_kernel = 30 * kMicrosecond});
  EXPECT_LT(heavy.open, light.open);
  EXPECT_LE(heavy.beside, heavy.alone + kMostDelay + kTolerance);
}

TEST(GateLaunchPhase, IsOpenForMoreWhereTheTailIsFarBelowTheSlo) {
  const LaunchingProgram heavy{
      .commands = 300, .each_launch = 40 * kMicrosecond, .each_kernel = 30 * kMicrosecond};
  constexpr Nanoseconds kLong = 80 * kMillisecond;
  constexpr Nanoseconds kTail = 20 * kMillisecond;
  const LaunchPhaseResult tight = after_many(heavy, kLong, kLong / 2);
  const LaunchPhaseResult ample = after_many(heavy, kLong, kTail);
  EXPECT_GT(ample.open, tight.open);
  EXPECT_LE(ample.beside, ample.alone + 2 * kMillisecond + (kLong / 2 - kTail) / 10 + kTolerance);
}

TEST(GateLaunchPhase, IsOpenForLessWhileTheSloIsMissed) {
  const LaunchingProgram heavy{
      .commands = 300, .each_launch = 40 * kMicrosecond, .each_kernel = 30 * kMicrosecond};
  constexpr Nanoseconds kLong = 50 * kMillisecond;  // a kernel more is allowed
  const LaunchPhaseResult kept = after_many(heavy, kLong, kLong / 2);
  const LaunchPhaseResult missed = after_many(heavy, kLong, 2 * kLong);
  EXPECT_LT(missed.open, kept.open);
  EXPECT_GT(missed.open, 0.0);
  EXPECT_LE(missed.beside, missed.alone + 100 * kMicrosecond + kTolerance);
}

TEST(GateLaunchPhase, OfSeveralPartsEndsBeforeEachWait) {
  const LaunchPhaseResult parts = after_many({.commands = 150,
                                              .each_launch = 40 * kMicrosecond,
                                              .each_kernel = 10 * kMicrosecond,
                                              .parts = 4});
  EXPECT_GT(parts.open, 0.2);
  EXPECT_LE(parts.beside, parts.alone + kMostDelay + kTolerance);
}

TEST(GateLaunchPhase, LetsNoPartWaitForAsLongAsTheFirstOne) {
  // Without a neighbour only the first part waits for the kernel that runs when the request comes.
  const LaunchPhaseResult parts = after_many({.commands = 225,
                                              .each_launch = 40 * kMicrosecond,
                                              .each_kernel = 40 * kMicrosecond,
                                              .parts = 3});
  EXPECT_LE(parts.beside, parts.alone + kMostDelay + kTolerance);
}

TEST(GateLaunchPhase, IsOpenBetweenLooksAtResults) {
  const LaunchPhaseResult looking = after_many({.commands = 150,
                                                .each_launch = 40 * kMicrosecond,
                                                .each_kernel = 10 * kMicrosecond,
                                                .parts = 3,
                                                .looks_between = true});
  EXPECT_GT(looking.open, 0.2);
  EXPECT_LE(looking.beside, looking.alone + kMostDelay + kTolerance);
}

TEST(GateLaunchPhase, IsClosedWhereTheGpuIsBehindTheHost) {
  const LaunchPhaseResult behind = after_many(
      {.commands = 300, .each_launch = 10 * kMicrosecond, .each_kernel = 30 * kMicrosecond});
  EXPECT_EQ(behind.open, 0.0);
}

TEST(GateLaunchPhase, IsClosedForFewOrQuickLaunches) {
  const LaunchPhaseResult graph =
      after_many({.commands = 3, .each_launch = kMillisecond, .each_kernel = 10 * kMicrosecond});
  EXPECT_EQ(graph.open, 0.0);
  const LaunchPhaseResult quick = after_many(
      {.commands = 50, .each_launch = 10 * kMicrosecond, .each_kernel = 10 * kMicrosecond});
  EXPECT_EQ(quick.open, 0.0);
}

TEST(GateLaunchPhase, OfAProgramThatNeverWaitsIsClosed) {
  LaunchPhase phase(kPromised);
  for (int i = 0; i < 100; ++i) {
    phase.request_began(i * kSecond);
    EXPECT_EQ(phase.open_commands(), 0U);
    phase.request_ended();
  }
}

TEST(GateLaunchPhase, OpensWhenTheProgramNoLongerWaitsForLong) {
  LaunchPhase phase(kPromised);
  Nanoseconds now = 0;
  const auto most_open = [&](int requests, Nanoseconds wait) {
    std::uint32_t most = 0;
    for (int i = 0; i < requests; ++i) {
      phase.request_began(now);
      most = std::max(most, phase.open_commands());
      phase.wait_began(400, now + 10 * kMillisecond);
      phase.wait_ended(0, now + 10 * kMillisecond + wait);
      phase.request_ended();
      now += kSecond;
    }
    return most;
  };
  EXPECT_EQ(most_open(100, 8 * kMillisecond), 0U);
  EXPECT_GT(most_open(200, 0), 300U);
}

TEST(GateLaunchPhase, ComparesMoreRarelyOnceWaitsAreKnown) {
  LaunchPhase phase(kPromised);
  Nanoseconds now = 0;
  const auto closed_of = [&](int requests, Nanoseconds wait_beside) {
    int closed = 0;
    for (int i = 0; i < requests; ++i) {
      phase.request_began(now);
      const bool alone = phase.open_commands() == 0;
      closed += alone ? 1 : 0;
      phase.wait_began(400, now + 10 * kMillisecond);
      phase.wait_ended(0, now + 10 * kMillisecond + (alone ? 0 : wait_beside));
      phase.request_ended();
      now += kSecond;
    }
    return closed;
  };
  closed_of(28 + 17 * 8, 0);
  EXPECT_EQ(closed_of(67 * 8, 0), 8);
  closed_of(67, kPromised);  // too much now
  EXPECT_EQ(closed_of(17 * 8, kPromised), 8);
}

TEST(GateLaunchPhase, EndsEarlierForARequestWithFewerCommands) {
  LaunchPhase phase(kPromised);
  Nanoseconds now = 0;
  const auto serve = [&](std::uint32_t commands) {
    phase.request_began(now);
    const std::uint32_t open = phase.open_commands();
    phase.wait_began(commands, now + 10 * kMillisecond);
    phase.wait_ended(0, now + 10 * kMillisecond);
    phase.request_ended();
    now += kSecond;
    return open;
  };
  for (int i = 0; i < 200; ++i) {
    serve(400);
  }
  const std::uint32_t before = std::max(serve(400), serve(400));  // one of them may be alone
  EXPECT_GT(before, 300U);
  serve(100);
  EXPECT_EQ(serve(400), 0U);  // nothing is known of what follows such a request
  const std::uint32_t after = std::max(serve(400), serve(400));
  EXPECT_LE(after, 140U);  // grows again by an eighth of what is missing
}

}  // namespace
}  // namespace carpool::interpose::gate
