// Gates in the streams of a client that launches ahead of its turn.
#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "interpose/gate/turn_sections.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr Nanoseconds kSection = 400 * kMicrosecond;

class TurnSectionsTest : public testing::Test {
 protected:
  // Whether the launch got a gate.
  bool launch(std::uint64_t stream, Nanoseconds bound, std::uint64_t closing = 0) {
    const TurnSections::Asks asks{
        .stream = stream, .bound = bound, .section = kSection, .closing = closing};
    const bool needed = sections_.needs_gate(asks);
    sections_.add(asks, needed);
    return needed;
  }

  TurnSections sections_;
};

TEST_F(TurnSectionsTest, ShortLaunchesShareASection) {
  EXPECT_TRUE(launch(1, 100 * kMicrosecond));
  EXPECT_FALSE(launch(1, 100 * kMicrosecond));
  EXPECT_FALSE(launch(1, 200 * kMicrosecond));
  EXPECT_TRUE(launch(1, kMicrosecond));
  EXPECT_FALSE(launch(1, 399 * kMicrosecond));
}

TEST_F(TurnSectionsTest, ALongLaunchHasASectionOfItsOwn) {
  EXPECT_TRUE(launch(1, kMillisecond));
  EXPECT_TRUE(launch(1, 10 * kMicrosecond));
  EXPECT_TRUE(launch(1, kMillisecond));
}

TEST_F(TurnSectionsTest, StreamsHaveTheirOwnGatesAndShareTheSection) {
  EXPECT_TRUE(launch(1, 100 * kMicrosecond));
  EXPECT_TRUE(launch(2, 100 * kMicrosecond));
  EXPECT_FALSE(launch(1, 100 * kMicrosecond));
  EXPECT_FALSE(launch(2, 100 * kMicrosecond));
  EXPECT_TRUE(launch(1, 100 * kMicrosecond)) << "200 µs for each of two";
  EXPECT_TRUE(launch(2, 100 * kMicrosecond));
}

TEST_F(TurnSectionsTest, EightStreamsUsedInTurnNeedNoGateForEachLaunch) {
  int gates = 0;
  for (std::uint64_t i = 0; i < 80; ++i) {
    gates += launch(1 + i % 8, 10 * kMicrosecond) ? 1 : 0;
  }
  EXPECT_EQ(gates, 16) << "five launches of 10 µs fit in an eighth of the section";
}

TEST_F(TurnSectionsTest, AStreamThatIsNotUsedAnyMoreTakesNothing) {
  launch(2, kMicrosecond);
  for (int i = 0; i < 100; ++i) {
    launch(1, kMicrosecond);
  }
  EXPECT_TRUE(launch(1, kSection)) << "behind the short ones";
  EXPECT_TRUE(launch(1, 100 * kMicrosecond));
  EXPECT_FALSE(launch(1, 300 * kMicrosecond));
  EXPECT_TRUE(launch(2, kMicrosecond)) << "its own gate is long past";
}

TEST_F(TurnSectionsTest, EachStreamGetsAGateOnceTheGatesAreClosed) {
  EXPECT_TRUE(launch(1, kMicrosecond));
  EXPECT_TRUE(launch(2, kMicrosecond));
  EXPECT_TRUE(launch(1, kMicrosecond, 1));
  EXPECT_FALSE(launch(1, kMicrosecond, 1)) << "it waits already";
  EXPECT_TRUE(launch(2, kMicrosecond, 1));
  EXPECT_FALSE(launch(1, kMicrosecond)) << "they are open again";
  EXPECT_FALSE(launch(2, kMicrosecond));
  EXPECT_TRUE(launch(1, kMicrosecond, 2));
  EXPECT_FALSE(launch(1, kMicrosecond, 2));
}

// What may run on when a turn ends: in each stream what follows its last gate.
TEST_F(TurnSectionsTest, NoMoreThanASectionOrOneLaunchOfEachStreamFollowsTheLastGates) {
  std::mt19937_64 engine(7);
  std::map<std::uint64_t, Nanoseconds> begun;
  std::map<std::uint64_t, Nanoseconds> longest;
  std::size_t gates = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t stream = 1 + engine() % 8;
    const auto bound = static_cast<Nanoseconds>(engine() % 30) * kMicrosecond;
    const bool gate = launch(stream, bound);
    gates += gate ? 1 : 0;
    begun[stream] = gate ? bound : begun[stream] + bound;
    longest[stream] = std::max(longest[stream], bound);
    Nanoseconds sum = 0;
    for (const auto& [name, work] : begun) {
      sum += std::max<Nanoseconds>(0, work - longest[name]);
    }
    EXPECT_TRUE(i < 100 || sum <= kSection) << sum;  // once all streams are used
  }
  EXPECT_LT(gates, 4'000U);
}

TEST(KernelLengthTest, LongKernelsCountByTheirTime) {
  KernelLength length;
  EXPECT_EQ(length.mean(), 0);
  for (int i = 0; i < 20; ++i) {
    length.add(kMillisecond);
    length.add(10 * kMicrosecond);
  }
  EXPECT_GT(length.mean(), 950 * kMicrosecond);
  EXPECT_LT(length.mean(), kMillisecond);
  for (int i = 0; i < 50'000; ++i) {
    length.add(10 * kMicrosecond);
  }
  EXPECT_LT(length.mean(), 20 * kMicrosecond);  // the latest work counts
  length.add(kNever);
  EXPECT_GT(length.mean(), kMillisecond);
}

TEST(SpaceTest, PaysForLongKernelsBesideFrequentRequests) {
  EXPECT_TRUE(space_pays(kMillisecond, 200));
  EXPECT_FALSE(space_pays(kMillisecond, 20));
  EXPECT_FALSE(space_pays(300 * kMicrosecond, 200));
  EXPECT_TRUE(space_pays(300 * kMicrosecond, 500));
  EXPECT_FALSE(space_pays(0, 1000));
}

}  // namespace
}  // namespace carpool::interpose::gate
