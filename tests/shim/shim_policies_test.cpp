// Each policy of the gate in a best-effort process beside an SLO process.
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "interpose/gate/policy.hpp"
#include "shim_gate_fixture.hpp"

namespace carpool::shim_test {
namespace {

using interpose::gate::HoldReason;

class ShimPolicies : public ShimGate {
 protected:
  [[nodiscard]] static Environment by(const std::string& policy) {
    Environment more = best_effort();
    more["CARPOOL_SHIM_POLICY"] = policy;
    return more;
  }

  // What a flood of so many kernels of 5 ms tells, beside a service that waits for nothing.
  Values flood(const std::string& policy, const char* kernels) {
    clear_files();
    const ChildProcess serving = start({"lookup", "endless-request"}, slo());
    EXPECT_TRUE(wait_for("READY"));
    return run({"lookup", "flood", kernels}, by(policy));
  }
};

class ShimEachPolicy : public ShimPolicies, public testing::WithParamInterface<std::string> {};

TEST_P(ShimEachPolicy, LetsBothGoOn) {
  const ChildProcess flooding = start({"lookup", "flood", "0"}, by(GetParam()));
  ASSERT_TRUE(wait_for("GO"));
  const ChildProcess serving = start({"lookup", "serve", "100000"}, slo());
  EXPECT_TRUE(goes_on(serving.pid()));
  EXPECT_TRUE(goes_on(flooding.pid()));
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names{"hami:50"};
  for (const interpose::gate::Policy& policy : interpose::gate::policies()) {
    names.emplace_back(policy.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(
    All, ShimEachPolicy, testing::ValuesIn(policy_names()), [](const auto& tested) {
      std::string name = tested.param;
      std::ranges::replace_if(
          name, [](char letter) { return letter == '-' || letter == ':'; }, '_');
      return name;
    });

TEST_F(ShimPolicies, HamiKeepsALimitOfTheGpusTime) {
  constexpr const char* kKernels = "200";  // a second of the GPU
  const Values whole = flood("hami", kKernels);
  EXPECT_EQ(whole.at("holds"), 0U);
  const Values half = flood("hami:50", kKernels);
  EXPECT_EQ(half.at("policy"), whole.at("policy"));
  EXPECT_GE(half.at(holds_of(HoldReason::RateLimit)), 1U);
  // Half of the time would be two seconds. The first refills are too large; a busy machine only
  // adds.
  EXPECT_GT(half.at("flooded_us"), 1'400'000U);
  EXPECT_LT(half.at("flooded_us"), whole.at("flooded_us") * 4);
}

TEST_F(ShimPolicies, OrionCountsTheSmsOfItsWorkInFlight) {
  // Each kernel takes all of the device: one at a time while the service has work.
  const Values seen = flood("orion", "20");
  EXPECT_GE(seen.at(holds_of(HoldReason::NoFreeSms)), 10U);
}

TEST_F(ShimPolicies, ARequestWaitsForTheTurnOfSalus) {
  const ChildProcess flooding = start({"lookup", "flood", "0"}, by("salus"));
  const Values seen = run({"lookup", "serve", "10"}, with_files(slo()));
  EXPECT_EQ(seen.at("failures"), 0U);
  const std::uint64_t holds = seen.at(holds_of(HoldReason::IterationOfOther));
  EXPECT_GE(holds, 5U);
  EXPECT_EQ(seen.at("holds"), holds);
  // Turns of 100 ms; the service begins at any moment of one.
  EXPECT_GT(seen.at("held_ns"), holds * 20'000'000);
}

TEST_F(ShimPolicies, ARequestWaitsForTheMarkedIterationOfSalusOnly) {
  const ChildProcess training = start({"lookup", "iterations", "0"}, by("salus"));
  const Values seen = run({"lookup", "serve", "10"}, with_files(slo()));
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_GE(seen.at(holds_of(HoldReason::IterationOfOther)), 3U);
  // Iterations of 20 ms, and what the machine adds.
  EXPECT_LT(seen.at("held_ns"), seen.at("holds") * 60'000'000);
}

TEST_F(ShimPolicies, AKilledOrStoppedProcessDoesNotKeepTheLane) {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    clear_files();
    const ChildProcess flooding = start({"lookup", "flood", "0"}, by("salus"));
    ASSERT_TRUE(wait_for("GO"));
    const ChildProcess serving = start({"lookup", "serve", "100000"}, slo());
    ASSERT_TRUE(eventually([&] { return launches_of(serving.pid()) > 1; }));
    EXPECT_TRUE(goes_on_without(flooding.pid(), signal, serving.pid()));
    ASSERT_EQ(::kill(flooding.pid(), SIGKILL), 0);
  }
}

TEST_F(ShimPolicies, AServiceThatIsStoppedWhileItWaitsDoesNotKeepTheLane) {
  const ChildProcess flooding = start({"lookup", "flood", "0"}, by("salus"));
  ASSERT_TRUE(wait_for("GO"));
  const ChildProcess serving = start({"lookup", "long-wait"}, slo());
  ASSERT_TRUE(wait_for("READY"));
  const Stopwatch watch;
  EXPECT_TRUE(goes_on_without(serving.pid(), SIGSTOP, flooding.pid()));
  EXPECT_LT(watch.seconds(), 8.0) << "its kernel takes 3 s";
}

}  // namespace
}  // namespace carpool::shim_test
