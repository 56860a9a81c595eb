// How a best-effort process shares the device with requests: in turns, by gates in its streams, or
// in space, on a part of the SMs.
#include "shim_gate_fixture.hpp"

namespace carpool::shim_test {
namespace {

Environment one_connection() {
  return {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};
}

class ShimTurns : public ShimGate {
 protected:
  [[nodiscard]] static bool ahead(const Values& seen) {
    return seen.at("launching_us") * 2 < seen.at("done_us");
  }

  // A request that does not end: what is launched waits for the minimum share.
  Values launched_beside_request(const std::string& mps,
                                 const std::string& slo_mps,
                                 const std::string& command = "ahead",
                                 const std::string& number = "3") {
    clear_files();
    const ChildProcess serving = start({"lookup", "endless-request"}, slo(slo_mps));
    EXPECT_TRUE(wait_for("READY"));
    Environment more = best_effort(mps);
    more.insert(more_.begin(), more_.end());
    Values seen = run({"lookup", command, number}, with_files(more));
    EXPECT_EQ(seen.at("failures"), 0U);
    EXPECT_GE(seen.at("driver_kernel_launches"), 6U);
    return seen;
  }
  Values launched_ahead(const std::string& mps,
                        const std::string& slo_mps,
                        const std::string& command = "ahead",
                        const std::string& number = "3") {
    return once_shown([&] { return launched_beside_request(mps, slo_mps, command, number); },
                      [](const Values& values) { return ahead(values); });
  }

  Environment more_{};  // of the best-effort process
};

TEST_F(ShimTurns, AProgramLaunchesAheadOfItsTurn) {
  for (const char* mps : {"0", "1"}) {
    const Values seen = launched_ahead(mps, mps);
    EXPECT_GE(seen.at("driver_value_waits"), 2U);
    EXPECT_TRUE(ahead(seen)) << seen.at("launching_us") << " of " << seen.at("done_us");
    EXPECT_GE(seen.at(holds_of(interpose::gate::HoldReason::RequestActive)), 2U);
  }
}

TEST_F(ShimTurns, AProgramLaunchesAheadWhileItsContextIsUsedByOthersToo) {
  const Values seen = launched_ahead("0", "0", "ahead-after-release");
  EXPECT_TRUE(ahead(seen)) << seen.at("launching_us") << " of " << seen.at("done_us");
}

TEST_F(ShimTurns, ADriverWithoutStreamWaitsHoldsLaunches) {
  for (const char* setting :
       {"fail.cuStreamWaitValue64_v2 = 801", "fail.cuMemHostRegister_v2 = 801"}) {
    settings(std::string("sms = 4\n") + setting);
    const Values seen = launched_beside_request("0", "0");
    EXPECT_EQ(seen.at("driver_value_waits"), 0U) << setting;
    EXPECT_FALSE(ahead(seen)) << setting;
  }
}

// Where the driver slices the time, a stream that waits for an event takes its slices, even if the
// event is behind a gate: so it waits for a word first.
TEST_F(ShimTurns, AStreamThatWaitsForAnotherOneWaitsForAWordFirst) {
  const std::string command = "ahead-with-streams";
  for (const char* mps : {"0", "1"}) {
    const Values seen = launched_ahead(mps, "0", command);
    EXPECT_TRUE(ahead(seen)) << seen.at("launching_us") << " of " << seen.at("done_us");
    EXPECT_GE(seen.at("driver_value_writes"), 3U);
    EXPECT_EQ(launched_ahead(mps, "0").at("driver_value_writes"), 0U) << "one stream";
  }
  EXPECT_EQ(launched_ahead("1", "1", command).at("driver_value_writes"), 0U) << "both under MPS";
}

// The driver lets such streams wait for the legacy one, and the library cannot put a word in front
// of that.
TEST_F(ShimTurns, StreamsThatBlockTheLegacyOneAreNotAheadWhereTheTimeIsSliced) {
  const std::string command = "ahead-beside-legacy";
  constexpr const char* kBlocking = "0";
  constexpr const char* kNonBlocking = "1";
  EXPECT_FALSE(ahead(launched_beside_request("1", "0", command, kBlocking)));
  EXPECT_TRUE(ahead(launched_ahead("1", "0", command, kNonBlocking)));
  EXPECT_TRUE(ahead(launched_ahead("1", "1", command, kBlocking))) << "both under MPS";
}

// In one queue a stream that waits for another one waits for what runs already.
TEST_F(ShimTurns, StreamsInOneQueueNeedNoWords) {
  more_ = one_connection();
  const Values seen = launched_ahead("1", "0", "ahead-with-streams");
  EXPECT_TRUE(ahead(seen)) << seen.at("launching_us") << " of " << seen.at("done_us");
  EXPECT_EQ(seen.at("driver_value_writes"), 0U);
  EXPECT_GE(launched_ahead("1", "0", "ahead-with-priorities").at("driver_value_writes"), 3U)
      << "one queue for each priority";
  EXPECT_TRUE(ahead(launched_ahead("1", "0", "ahead-beside-legacy", "0")));
}

// Six streams, and more kernels than there are words.
TEST_F(ShimTurns, StreamsThatWaitForOneAnotherComeToAnEnd) {
  constexpr std::uint64_t kKernels = 5000;
  const auto tangled = [&](const Environment& connections) {
    clear_files();
    const ChildProcess serving = start({"lookup", "serve", "2000"}, slo("0"));
    EXPECT_TRUE(wait_for("READY"));
    Environment more = best_effort();
    more.insert(connections.begin(), connections.end());
    Values seen = run({"lookup", "tangled", std::to_string(kKernels)}, with_files(more));
    EXPECT_EQ(seen.at("failures"), 0U);
    EXPECT_EQ(seen.at("driver_kernel_launches"), kKernels);
    EXPECT_TRUE(goes_on(serving.pid()));
    return seen;
  };
  const Values several = once_shown(
      [&] { return tangled({}); },
      [&](const Values& seen) { return seen.at("driver_value_writes") >= kKernels / 2; });
  EXPECT_GE(several.at("driver_value_writes"), kKernels / 2);
  const Values one = tangled(one_connection());
  EXPECT_EQ(one.at("driver_value_writes"), 0U);
  EXPECT_GT(one.at("driver_value_waits"), 0U);
  EXPECT_LT(one.at("driver_value_waits"), several.at("driver_value_waits") / 2)
      << "the streams have their gates together";
}

// A program for which the GPU waits launches on while a request is active, within its section.
TEST_F(ShimTurns, WhatIsLaunchedDuringARequestWaitsForItsEnd) {
  constexpr std::uint64_t kRequests = 20;  // of 10 ms
  for (const char* slo_mps : {"0", "1"}) {
    clear_files();
    const ChildProcess serving =
        start({"lookup", "serve", std::to_string(kRequests)}, slo(slo_mps));
    ASSERT_TRUE(wait_for("READY"));
    const Values seen = run({"lookup", "drips"}, with_files(best_effort()));
    EXPECT_EQ(seen.at("failures"), 0U);
    EXPECT_GE(seen.at("late"), kRequests / 2);
  }
}

TEST_F(ShimTurns, SeveralBestEffortProcessesLaunchAhead) {
  const ChildProcess serving = start({"lookup", "serve", "2000"}, slo());
  ASSERT_TRUE(wait_for("READY"));
  const ChildProcess other = start({"lookup", "flood", "0"}, best_effort());
  ASSERT_TRUE(eventually([&] { return launches_of(other.pid()) > 4; }));
  const Values seen = run({"lookup", "ahead", "40"}, with_files(best_effort()));
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_GE(seen.at("driver_value_waits"), 20U);
  EXPECT_TRUE(goes_on(other.pid()));
  EXPECT_TRUE(goes_on(serving.pid()));
}

// Beside a request a heavy kernel goes to a part of the SMs, in the order of its own stream.
class ShimConfined : public ShimGate {
 protected:
  // Its requests have told that the SLO leaves room for work beside them.
  [[nodiscard]] static Environment known_slo(const std::string& mps = "1") {
    Environment more = slo(mps);
    more["SHIM_TEST_FIRST_REQUESTS"] = "60";
    return more;
  }

  Values counted_beside_requests(const Environment& more, const std::string& slo_mps = "1") {
    clear_files();
    const ChildProcess serving = start({"lookup", "serve", "20"}, known_slo(slo_mps));
    EXPECT_TRUE(wait_for("READY"));
    Values seen = run({"lookup", "counted", "2000"}, with_files(more));
    EXPECT_EQ(seen.at("failures"), 0U);
    EXPECT_GT(seen.at("launched"), 0U);
    EXPECT_EQ(seen.at("counted"), seen.at("launched"));
    return seen;
  }
  // Of a program that can be confined.
  Values confined_beside_requests(const Environment& more) {
    Values seen =
        once_shown([&] { return counted_beside_requests(more); },
                   [](const Values& values) { return values.at("driver_green_launches") >= 3; });
    EXPECT_GE(seen.at("driver_green_launches"), 3U);
    return seen;
  }
};

TEST_F(ShimConfined, AKernelBesideARequestRunsOnAPartOfTheSms) {
  settings("sms = 64");
  const Values seen = confined_beside_requests(best_effort());
  EXPECT_LT(seen.at("driver_green_launches"), seen.at("driver_kernel_launches"));
}

TEST_F(ShimConfined, AProgramWithoutMpsIsNotConfined) {
  settings("sms = 64");
  EXPECT_EQ(counted_beside_requests(best_effort("0")).at("driver_green_launches"), 0U);
}

TEST_F(ShimConfined, NorIsOneBesideRequestsOutsideOfMps) {
  settings("sms = 64");
  EXPECT_EQ(counted_beside_requests(best_effort(), "0").at("driver_green_launches"), 0U);
}

TEST_F(ShimConfined, ADriverWithoutGreenContextsMakesItTakeTurns) {
  settings("sms = 64\ngreen_contexts = 0");
  const Values seen = counted_beside_requests(best_effort());
  EXPECT_EQ(seen.at("driver_green_launches"), 0U);
  EXPECT_GE(seen.at("driver_value_waits"), 3U);
  EXPECT_GE(seen.at(holds_of(interpose::gate::HoldReason::RequestActive)), 3U);
}

TEST_F(ShimConfined, ASmallGpuHasNoParts) {
  settings("sms = 8");
  EXPECT_EQ(counted_beside_requests(best_effort()).at("driver_green_launches"), 0U);
}

// All blocks of either kernel may be on the GPU at once and wait for one another: 64 SMs with 32 of
// them each. Those of one kernel fit on the smallest part, too, those of the other on none.
TEST_F(ShimConfined, AKernelWhoseBlocksMayWaitForOneAnotherNeedsRoomForAll) {
  settings("sms = 64");
  Environment with_blocks = best_effort();
  with_blocks["SHIM_TEST_BLOCKS"] = "250";
  confined_beside_requests(with_blocks);
}

TEST_F(ShimConfined, AKernelWhoseBlocksMayWaitForOneAnotherIsNotConfinedToLess) {
  settings("sms = 64");
  Environment with_blocks = best_effort();
  with_blocks["SHIM_TEST_BLOCKS"] = "1100";
  EXPECT_EQ(counted_beside_requests(with_blocks).at("driver_green_launches"), 0U);
}

// With so much shared memory only one of them fits on an SM, so they cannot wait for one another.
TEST_F(ShimConfined, SharedMemoryTellsHowManyBlocksAreThereAtOnce) {
  settings("sms = 64");
  Environment with_blocks = best_effort();
  with_blocks["SHIM_TEST_BLOCKS"] = "1100";
  with_blocks["SHIM_TEST_SHARED_BYTES"] = "200000";
  confined_beside_requests(with_blocks);
}

TEST_F(ShimConfined, ABeliefThatIsTooHighIsCorrected) {
  settings("sms = 64");
  const ChildProcess serving = start({"lookup", "serve", "20"}, known_slo());
  ASSERT_TRUE(wait_for("READY"));
  const Values seen = run({"lookup", "believed", "600"}, with_files(best_effort()));
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("believed_ns"), 80'000'000U);
  EXPECT_LT(seen.at("mean_ns"), 50'000'000U);  // a quarter of the SLO
}

}  // namespace
}  // namespace carpool::shim_test
