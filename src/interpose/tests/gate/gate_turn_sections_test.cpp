// Gates in the streams of a client that launches ahead of its turn.
#include <gtest/gtest.h>

#include "interpose/gate/turn_sections.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr Nanoseconds kSection = 400 * kMicrosecond;

class TurnSectionsTest : public testing::Test {
 protected:
  // Whether the launch got a gate.
  bool launch(std::uint64_t stream, Nanoseconds bound) {
    const bool needed = sections_.needs_gate(stream, bound, kSection);
    sections_.add(stream, bound, needed);
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

TEST_F(TurnSectionsTest, EveryStreamNeedsItsOwnGate) {
  EXPECT_TRUE(launch(1, 10 * kMicrosecond));
  EXPECT_TRUE(launch(2, 10 * kMicrosecond));
  EXPECT_TRUE(launch(1, 10 * kMicrosecond));
  EXPECT_FALSE(launch(1, 10 * kMicrosecond));
}

TEST(HeavyShareTest, TheLatestWorkCounts) {
  HeavyShare share;
  EXPECT_FALSE(share.most());
  share.add(kMillisecond, true);
  EXPECT_TRUE(share.most());
  for (int i = 0; i < 5000; ++i) {
    share.add(20 * kMicrosecond, false);
  }
  EXPECT_FALSE(share.most());
  for (int i = 0; i < 200; ++i) {
    share.add(kMillisecond, i % 4 != 0);
  }
  EXPECT_TRUE(share.most());
}

}  // namespace
}  // namespace carpool::interpose::gate
