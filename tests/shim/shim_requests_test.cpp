// How the requests of an SLO process are found: by its calls, by its declarations, by NVTX ranges.
#include <string>

#include "shim_gate_fixture.hpp"

namespace carpool::shim_test {
namespace {

class ShimRequests : public ShimGate {
 protected:
  // What is found of a program that serves so many requests.
  Values served(const char* command, int requests) {
    const Values seen = run({"lookup", command, std::to_string(requests)}, slo());
    EXPECT_EQ(seen.at("failures"), 0U) << command;
    return seen;
  }
};

TEST_F(ShimRequests, DeclaredRequestsAreBelieved) {
  const Values seen = run({"symbol", "declared", "7"}, slo());
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("requests"), 7U);
}

TEST_F(ShimRequests, ADeclaredRequestEndsWhereItBegan) {
  settings("gpus = 2");
  const Values seen = run({"symbol", "declared-on-two", "7"}, slo());
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("requests_on_all_gpus"), 7U);
}

// The last one has not been followed by another; a thread that the system stops may begin one more.
TEST_F(ShimRequests, ACopyThatReturnsWhenItIsDoneEndsARequest) {
  const Values seen = served("serve-plainly", 30);
  EXPECT_GE(seen.at("requests"), 29U);
}

// Ends are noticed with the next begin.
TEST_F(ShimRequests, ARequestMayHaveSeveralInputs) {
  const Values seen = served("serve-with-inputs", 30);
  EXPECT_GE(seen.at("requests"), 29U);
  EXPECT_LE(seen.at("requests"), 35U) << "a thread that the system stops may begin some more";
  EXPECT_GE(seen.at("p50_ns"), 500'000U);
}

TEST_F(ShimRequests, InputsBehindAFirstKernelBelongToTheRequest) {
  const Values seen = served("serve-with-late-inputs", 30);
  EXPECT_GE(seen.at("requests"), 29U);
  EXPECT_LE(seen.at("requests"), 40U);
  EXPECT_GE(seen.at("p50_ns"), 1'000'000U);
}

TEST_F(ShimRequests, WorkThatIsNeverWaitedForDoesNotHideRequests) {
  const Values seen = served("serve-with-strays", 30);
  EXPECT_GE(seen.at("requests"), 29U);
}

TEST_F(ShimRequests, ThreadsThatServeBackToBackHaveRequestsOfTheirOwn) {
  const Values seen = served("serve-by-threads", 60);
  EXPECT_GE(seen.at("requests"), 50U);
  EXPECT_GE(seen.at("p50_ns"), 1'900'000U);
}

TEST_F(ShimRequests, CopiesByAddressBeginAndEndARequest) {
  const Values seen = served("serve-by-address", 30);
  EXPECT_GE(seen.at("requests"), 29U);
}

TEST_F(ShimRequests, AQuestionAfterTheEndEndsARequest) {
  const Values seen = served("serve-and-ask-late", 30);
  EXPECT_GE(seen.at("requests"), 29U);
  EXPECT_GE(seen.at("p50_ns"), 2'000'000U);
}

TEST_F(ShimRequests, RequestsThatOverlapEachHaveTheirLatency) {
  for (const char* const serve : {"serve-in-pipeline", "serve-two-at-a-time"}) {
    const Values seen = served(serve, 20);
    EXPECT_GE(seen.at("requests"), 18U) << serve;
    EXPECT_LE(seen.at("requests"), 22U) << serve;
    EXPECT_GE(seen.at("p50_ns"), 19'000'000U) << serve;
    EXPECT_LE(seen.at("p50_ns"), 45'000'000U) << serve;
  }
}

// In percent of the time that work was on the GPU.
TEST_F(ShimRequests, TheRequestsOfAnotherThreadEndNone) {
  settings("sms = 132");
  const auto beside = [&] { return served("serve-beside-short", 30).at("seen_percent"); };
  EXPECT_GE(once_shown(beside, [](std::uint64_t seen) { return seen >= 90; }), 90U);
}

// The stream has nothing to do while the thread is on its way to the driver.
TEST_F(ShimRequests, AQuestionBeforeALaunchDoesNotAnswerForIt) {
  settings("sms = 132");
  const auto asked = [&] { return served("serve-beside-questions", 40).at("seen_percent"); };
  EXPECT_GE(once_shown(asked, [](std::uint64_t seen) { return seen >= 98; }), 98U);
}

TEST_F(ShimRequests, OneThatTheProgramAsksAboutIsActiveHoweverLongItTakes) {
  const auto asked = [&] { return served("serve-long", 1).at("seen_percent"); };
  EXPECT_GE(once_shown(asked, [](std::uint64_t seen) { return seen >= 95; }), 95U);
}

TEST_F(ShimRequests, AThreadMayWaitForWhatAnotherOneLaunches) {
  const auto found = [&] { return served("serve-for-another", 30).at("requests"); };
  EXPECT_GE(once_shown(found, [](std::uint64_t requests) { return requests >= 28; }), 28U);
}

// One that is split has a second part of 4 ms.
TEST_F(ShimRequests, AQuestionWhileTheProgramGoesOnEndsNoRequest) {
  const auto found = [&] { return served("serve-and-ask-between", 30).at("requests"); };
  EXPECT_LE(once_shown(found, [](std::uint64_t requests) { return requests <= 35; }), 35U);
}

TEST_F(ShimRequests, ACallbackThatTheDriverMayDropKeepsNoRequest) {
  settings("fail.cuStreamSynchronize = 719");
  EXPECT_EQ(served("serve-with-error", 3).at("busy"), 0U);
}

// In percent of the time between requests.
TEST_F(ShimRequests, AnEventBehindAnEarlierLaunchKeepsNoRequest) {
  settings("sms = 132");
  const auto between = [&] { return served("serve-after-strays", 20).at("seen_percent"); };
  EXPECT_LE(once_shown(between, [](std::uint64_t seen) { return seen <= 30; }), 30U);
}

TEST_F(ShimRequests, ACaptureOfAnotherThreadHidesNone) {
  settings("sms = 132");
  const auto beside = [&] { return served("serve-beside-captures", 20).at("seen_percent"); };
  EXPECT_GE(once_shown(beside, [](std::uint64_t seen) { return seen >= 90; }), 90U);
}

TEST_F(ShimRequests, NothingIsLeftOfThemWhateverThreadsDo) {
  settings("sms = 132");
  const Values seen = served("serve-at-random", 2000);
  EXPECT_EQ(seen.at("busy"), 0U);
  EXPECT_EQ(seen.at("waiting"), 0U);
  EXPECT_EQ(seen.at("active"), 0U);
}

class ShimNvtx : public ShimGate, public testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] static Environment with_ranges(Environment more) {
    more["NVTX_INJECTION64_PATH"] = shim_library();
    return more;
  }
};

TEST_P(ShimNvtx, RangesOfTheNameAreRequests) {
  const Values seen = run({"lookup", GetParam()}, with_ranges(slo()));
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("requests"), 8U);
}

TEST_P(ShimNvtx, TheNameCanBeChosen) {
  Environment more = with_ranges(slo());
  more["CARPOOL_SHIM_NVTX"] = "other";
  const Values seen = run({"lookup", GetParam()}, more);
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("requests"), 1U);
}

TEST_P(ShimNvtx, AProgramWithoutAnSloHasNoRequests) {
  for (const Environment& more : {best_effort(), Environment{{"CARPOOL_SHIM", "off"}}}) {
    EXPECT_EQ(run({"lookup", GetParam()}, with_ranges(more)).at("failures"), 0U);
  }
}

#ifdef SHIM_TEST_NVTX_HEADER
INSTANTIATE_TEST_SUITE_P(Clients, ShimNvtx, testing::Values("nvtx", "nvtx-header"));
#else
INSTANTIATE_TEST_SUITE_P(Clients, ShimNvtx, testing::Values("nvtx"));
#endif

}  // namespace
}  // namespace carpool::shim_test
