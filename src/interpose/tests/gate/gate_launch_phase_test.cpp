// How long best-effort work may go on while a request is launched.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "interpose/gate/launch_phase.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr Nanoseconds kPromised = 20 * kMillisecond;
constexpr Nanoseconds kMostDelay = kPromised / 50;

struct Program {
  std::uint32_t commands = 0;   // of a request
  Nanoseconds each_launch = 0;  // time of the host
  Nanoseconds each_kernel = 0;  // time of the GPU
  std::uint32_t parts = 1;      // each of which it waits for
  bool looks_between = false;   // it also waits for two short kernels before each of them
};

struct Served {
  Nanoseconds waited = 0;
  Nanoseconds open = 0;  // time in which best-effort work could run
  Nanoseconds took = 0;
};

// A GPU whose time is sliced between a program that serves requests and one that always has kernels
// of a millisecond. While both have work, each of them gets 2 ms in turn.
class SlicedGpu {
 public:
  SlicedGpu(Program program, Nanoseconds tail) : program_(program), tail_(tail) {}

  Served serve(LaunchPhase& phase) {
    Served served;
    const Nanoseconds began = now_;
    phase.request_began(now_);
    for (std::uint32_t part = 0; part < program_.parts; ++part) {
      if (program_.looks_between) {
        serve_part(phase, 2, served);
      }
      serve_part(phase, program_.commands, served);
    }
    served.took = now_ - began;
    phase.request_ended();
    now_ += kBetween;
    slice_ends_ = now_ + (served.took * 7 + now_ / 3) % kSlice;  // of the other program
    return served;
  }

 private:
  static constexpr Nanoseconds kTick = 10 * kMicrosecond;
  static constexpr Nanoseconds kSlice = 2 * kMillisecond;
  static constexpr Nanoseconds kKernel = kMillisecond;  // of the other program
  static constexpr Nanoseconds kBetween = 20 * kMillisecond;

  void serve_part(LaunchPhase& phase, std::uint32_t commands, Served& served) {
    const std::uint32_t open = phase.open_commands();
    std::uint32_t launched = 0;
    Nanoseconds waits_since = 0;
    Nanoseconds next_launch = now_;
    while (launched < commands || backlog_ > 0) {
      if (launched < commands && now_ >= next_launch) {
        ++launched;
        backlog_ += program_.each_kernel;
        next_launch += program_.each_launch;
      }
      if (launched == commands && waits_since == 0 && now_ >= next_launch) {
        waits_since = now_;
        phase.wait_began(launched, now_);
      }
      tick(launched < open && waits_since == 0, served);
    }
    now_ = std::max(now_, next_launch);
    if (waits_since == 0) {
      waits_since = now_;
      phase.wait_began(launched, now_);
    }
    served.waited += now_ - waits_since;
    phase.wait_ended(tail_, now_);
  }

  // The gate closes at the end of a kernel, the slice at its own.
  void tick(bool open, Served& served) {
    now_ += kTick;
    served.open += open ? kTick : 0;
    if (open && slice_ends_ <= now_ && (backlog_ == 0 || own_ends_ <= now_)) {
      slice_ends_ = now_ + kSlice;
      own_ends_ = slice_ends_ + kSlice;
    }
    if (!open) {
      slice_ends_ = std::min(slice_ends_, now_ + kKernel - now_ % kKernel);
    }
    if (slice_ends_ <= now_) {
      backlog_ = std::max<Nanoseconds>(0, backlog_ - kTick);
      if (backlog_ == 0) {
        own_ends_ = now_;
      }
    }
  }

  Program program_;
  Nanoseconds tail_;
  Nanoseconds now_ = kSecond;
  Nanoseconds backlog_ = 0;
  Nanoseconds slice_ends_ = 0;  // of the other program
  Nanoseconds own_ends_ = 0;    // the slice after it
};

struct Result {
  Nanoseconds alone = 0;   // long waits of the first requests
  Nanoseconds beside = 0;  // long waits of the last ones
  double open = 0.0;       // share of the last requests
};

Nanoseconds long_one(std::vector<Nanoseconds> waits) {
  std::ranges::sort(waits);
  return waits[waits.size() * 85 / 100];
}

Result after_many(Program program, Nanoseconds slo = kPromised, Nanoseconds tail = 0) {
  constexpr int kFirst = 20;
  constexpr int kRequests = 1000;
  constexpr int kLast = 400;
  LaunchPhase phase(slo);
  SlicedGpu gpu(program, tail);
  std::vector<Nanoseconds> alone;
  std::vector<Nanoseconds> beside;
  double open = 0.0;
  double took = 0.0;
  for (int i = 0; i < kRequests; ++i) {
    const Served served = gpu.serve(phase);
    if (i < kFirst) {
      alone.push_back(served.waited);
      EXPECT_EQ(served.open, 0) << i;
    } else if (i >= kRequests - kLast) {
      beside.push_back(served.waited);
      open += static_cast<double>(served.open);
      took += static_cast<double>(served.took);
    }
  }
  return {.alone = long_one(alone), .beside = long_one(beside), .open = open / took};
}

constexpr Nanoseconds kTolerance = 300 * kMicrosecond;  // buckets, and tries with a little more

TEST(GateLaunchPhase, IsOpenWhileTheHostIsSlow) {
  const Result slow = after_many(
      {.commands = 300, .each_launch = 40 * kMicrosecond, .each_kernel = 10 * kMicrosecond});
  EXPECT_GT(slow.open, 0.6);
  EXPECT_LE(slow.beside, slow.alone + kMostDelay + kTolerance);
}

TEST(GateLaunchPhase, IsOpenForLessWhereTheGpuHasMoreToDo) {
  const Result light = after_many(
      {.commands = 300, .each_launch = 40 * kMicrosecond, .each_kernel = 10 * kMicrosecond});
  const Result heavy = after_many(
      {.commands = 300, .each_launch = 40 * kMicrosecond, .each_kernel = 30 * kMicrosecond});
  EXPECT_LT(heavy.open, light.open);
  EXPECT_LE(heavy.beside, heavy.alone + kMostDelay + kTolerance);
}

TEST(GateLaunchPhase, IsOpenForMoreWhereTheTailIsFarBelowTheSlo) {
  const Program heavy{
      .commands = 300, .each_launch = 40 * kMicrosecond, .each_kernel = 30 * kMicrosecond};
  constexpr Nanoseconds kLong = 80 * kMillisecond;
  constexpr Nanoseconds kTail = 20 * kMillisecond;
  const Result tight = after_many(heavy, kLong, kLong / 2);
  const Result ample = after_many(heavy, kLong, kTail);
  EXPECT_GT(ample.open, tight.open);
  EXPECT_LE(ample.beside, ample.alone + kMillisecond + (kLong / 2 - kTail) / 10 + kTolerance);
}

TEST(GateLaunchPhase, OfSeveralPartsEndsBeforeEachWait) {
  const Result parts = after_many({.commands = 150,
                                   .each_launch = 40 * kMicrosecond,
                                   .each_kernel = 10 * kMicrosecond,
                                   .parts = 4});
  EXPECT_GT(parts.open, 0.2);
  EXPECT_LE(parts.beside, parts.alone + kMostDelay + kTolerance);
}

TEST(GateLaunchPhase, IsOpenBetweenLooksAtResults) {
  const Result looking = after_many({.commands = 150,
                                     .each_launch = 40 * kMicrosecond,
                                     .each_kernel = 10 * kMicrosecond,
                                     .parts = 3,
                                     .looks_between = true});
  EXPECT_GT(looking.open, 0.2);
  EXPECT_LE(looking.beside, looking.alone + kMostDelay + kTolerance);
}

TEST(GateLaunchPhase, IsClosedWhereTheGpuIsBehindTheHost) {
  const Result behind = after_many(
      {.commands = 300, .each_launch = 10 * kMicrosecond, .each_kernel = 30 * kMicrosecond});
  EXPECT_EQ(behind.open, 0.0);
}

TEST(GateLaunchPhase, IsClosedForFewOrQuickLaunches) {
  const Result graph =
      after_many({.commands = 3, .each_launch = kMillisecond, .each_kernel = 10 * kMicrosecond});
  EXPECT_EQ(graph.open, 0.0);
  const Result quick = after_many(
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
