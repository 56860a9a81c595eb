// Best-effort work while the program of a request still launches, or does not wait for all of it.
#include <string>
#include <utility>

#include "shim_gate_fixture.hpp"

namespace carpool::shim_test {
namespace {

class ShimLaunching : public ShimGate {
 protected:
  // In percent of the time, how long the gates of a best-effort process were closed beside a
  // program that serves.
  std::uint64_t closed_percent(const std::string& slo_mps,
                               const std::string& serve = "serve-slowly",
                               int requests = 80) {
    clear_files();
    settings("sms = 4\nmode = timeslice");
    const ChildProcess serving = start({"lookup", serve, std::to_string(requests)}, slo(slo_mps));
    const Values seen = run({"lookup", "flood", "0"}, with_files(best_effort()));
    EXPECT_EQ(seen.at("failures"), 0U);
    const std::string held = held_of(interpose::gate::HoldReason::RequestActive);
    return seen.at(held) / 10 / seen.at("flooded_us");
  }
  void expect_closed_for_more_than(std::uint64_t percent, const std::string& serve) {
    const auto beside = [&] { return closed_percent("0", serve); };
    EXPECT_GT(once_shown(beside, [&](std::uint64_t closed) { return closed > percent; }), percent);
  }
};

// How long a request takes differs from machine to machine: a pause of the host is longer than
// asked.
TEST_F(ShimLaunching, OtherWorkGoesOnAtFirstWhereTheTimeIsSliced) {
  constexpr std::uint64_t kDifference = 10;
  const auto closed = [&] { return std::pair(closed_percent("0"), closed_percent("1")); };
  const auto [sliced, mps] = once_shown(
      closed, [](const auto& percent) { return percent.first + kDifference < percent.second; });
  EXPECT_LT(sliced + kDifference, mps) << "under MPS each kernel may delay the request";
}

// The GPU works all the time, and the program waits for a fifth of it.
TEST_F(ShimLaunching, WorkThatIsLaunchedAheadOfAWaitKeepsTheRequestActive) {
  expect_closed_for_more_than(80, "serve-ahead");
}

// Four fifths of the time are those of requests; a request that is not seen lasts a millisecond.
TEST_F(ShimLaunching, AProgramThatAsksWhetherItsWorkIsDoneHasARequest) {
  expect_closed_for_more_than(40, "serve-polling");
}

TEST_F(ShimLaunching, AProgramThatACallbackTellsOfTheEndHasARequest) {
  expect_closed_for_more_than(40, "serve-with-callbacks");
}

// Four fifths of the time are those of requests here, too.
TEST_F(ShimLaunching, ARequestThatIsWaitedForLaterIsActiveUntilThen) {
  expect_closed_for_more_than(60, "serve-and-wait-later");
}

TEST_F(ShimLaunching, AWaitForOtherWorkDoesNotEndARequest) {
  expect_closed_for_more_than(60, "serve-beside-others");
}

// Half of the time is that of requests.
TEST_F(ShimLaunching, ARequestEndsWithTheEventBehindItsResults) {
  constexpr std::uint64_t kClosed = 30;
  constexpr std::uint64_t kMostClosed = 85;
  const auto beside = [&] { return closed_percent("0", "serve-beside-copies", 40); };
  const std::uint64_t closed = once_shown(
      beside, [](std::uint64_t percent) { return percent > kClosed && percent < kMostClosed; });
  EXPECT_GT(closed, kClosed);
  EXPECT_LT(closed, kMostClosed);
}

// After a request of 40 ms it is taken for done after another 40 ms, of 180 ms. The lease of 100 ms
// would close the gates for 78 % of the time.
TEST_F(ShimLaunching, WorkThatIsNeverWaitedForDoesNotKeepARequest) {
  constexpr std::uint64_t kMostClosed = 65;
  const auto beside = [&] { return closed_percent("0", "serve-and-leave", 20); };
  EXPECT_LT(once_shown(beside, [](std::uint64_t closed) { return closed < kMostClosed; }),
            kMostClosed);
}

}  // namespace
}  // namespace carpool::shim_test
