#include "serve/fair_share.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace carpool::serve {
namespace {

// As many of 1 as the user can get.
std::vector<FairShare::Held> take_all(FairShare& share, FairShare::Key user) {
  std::vector<FairShare::Held> held;
  for (FairShare::Held one = share.hold(user, 1); one; one = share.hold(user, 1)) {
    held.push_back(std::move(one));
  }
  return held;
}

TEST(FairShare, OneUserHasAtMostAFixedPart) {
  FairShare share(1000, 250);
  EXPECT_EQ(take_all(share, 1).size(), 250U);
  EXPECT_EQ(take_all(share, 1).size(), 250U);  // what was held is given back
}

TEST(FairShare, GreedyUsersLeaveAPlaceForANewcomer) {
  FairShare share(1000, 250);
  std::vector<std::vector<FairShare::Held>> greedy;
  for (FairShare::Key user = 1; user <= 30; ++user) {
    greedy.push_back(take_all(share, user));
    EXPECT_FALSE(greedy.back().empty()) << user;
  }
  EXPECT_EQ(greedy[0].size(), 250U);
  EXPECT_EQ(greedy[29].size(), 3U);  // as much as a user who holds little
}

TEST(FairShare, HoldingMoreAndLessIsCounted) {
  FairShare share(80, 80);
  FairShare::Held held = share.hold(1, 10);
  EXPECT_TRUE(held.grow(25));
  EXPECT_FALSE(held.grow(10));  // 35 would be left for the others
  EXPECT_FALSE(share.hold(2, 40));
  held.reduce_to(5);
  EXPECT_TRUE(share.hold(2, 40));
  held = FairShare::Held();
  EXPECT_TRUE(share.hold(2, 70));
}

TEST(FairShare, WaitsForWhatIsGivenBack) {
  FairShare share(1, 1);
  FairShare::Held held = share.hold(1, 1);
  const std::jthread releasing([&] { held = FairShare::Held(); });
  EXPECT_TRUE(share.hold(2, 1, std::chrono::hours(1)));
}

}  // namespace
}  // namespace carpool::serve
