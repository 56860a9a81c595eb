// Between the library, which measures requests, and the knowledge of the server, which learns them.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "app/server/shim/gate_tally.hpp"
#include "interpose/gate/gate_view.hpp"
#include "interpose/gate/launch_phase.hpp"
#include "interpose/gate/policy.hpp"
#include "interpose/gate/quantile_sketch.hpp"
#include "knowledge/latency/latency_law.hpp"

namespace carpool::app {
namespace {

using interpose::GateReport;
using interpose::gate::kMillisecond;

GateReport served(std::uint64_t requests, std::uint64_t p50_ms, std::uint64_t tail_ms) {
  return {.slo_ns = 20'000'000,
          .quantile_millionths = 990'000,
          .requests = requests,
          .p50_ns = p50_ms * 1'000'000,
          .tail_ns = tail_ms * 1'000'000,
          .service_ns = p50_ms * 900'000,
          .service_square_us2 = p50_ms * p50_ms * 850'000};
}

TEST(ServedLatency, TheSlowestProcessAndTheFewestRequestsCount) {
  GateTally tally;
  EXPECT_FALSE(tally.latency());
  tally.look({{{0, 1, 1}, served(0, 0, 0)}});
  EXPECT_FALSE(tally.latency()) << "no request has ended";
  tally.look({{{0, 1, 1}, served(500, 5, 12)}, {{0, 2, 1}, served(300, 6, 11)}});
  const auto both = tally.latency();
  ASSERT_TRUE(both);
  EXPECT_DOUBLE_EQ(both->quantile, 0.99);
  EXPECT_EQ(both->requests, 800U);
  EXPECT_EQ(both->processes, 2U);
  EXPECT_EQ(both->fewest, 300U);
  EXPECT_DOUBLE_EQ(both->p50_ms, 6.0);
  EXPECT_DOUBLE_EQ(both->tail_ms, 12.0);
  EXPECT_DOUBLE_EQ(both->service_ms, 5.4);
  EXPECT_DOUBLE_EQ(both->service_square_ms2, 30.6);
  // Requests of a process that has ended stay in the sum.
  tally.look({{{0, 2, 1}, served(310, 6, 11)}});
  EXPECT_EQ(tally.latency()->requests, 810U);
  EXPECT_EQ(tally.latency()->processes, 1U);
}

TEST(ServedLatency, AProcessThatIsIdleTellsNothing) {
  GateTally tally;
  const GateReport warmed_up = served(1, 4000, 4000);
  tally.look({{{0, 1, 1}, warmed_up}, {{0, 2, 1}, served(20, 5, 12)}});
  tally.look({{{0, 1, 1}, warmed_up}, {{0, 2, 1}, served(300, 5, 12)}});
  const auto busy = tally.latency();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->processes, 1U);
  EXPECT_EQ(busy->fewest, 300U);
  EXPECT_DOUBLE_EQ(busy->tail_ms, 12.0);
  EXPECT_EQ(busy->requests, 301U);
  // A process that came later begins as all others.
  tally.look({{{0, 2, 1}, served(90'000, 5, 12)}, {{0, 3, 1}, served(1, 5, 30)}});
  tally.look({{{0, 2, 1}, served(90'090, 5, 12)}, {{0, 3, 1}, served(80, 5, 30)}});
  EXPECT_EQ(tally.latency()->processes, 2U);
  EXPECT_EQ(tally.latency()->fewest, 80U);
}

TEST(ServedLatency, ABestEffortJobServesNone) {
  GateTally tally;
  tally.look({{{0, 1, 1}, GateReport{.policy = 1}}});
  EXPECT_FALSE(tally.latency());
}

TEST(ServedLatency, TheServerKnowsThePoliciesOfTheGate) {
  const auto gating = [](std::string policy) {
    JobSpec spec;
    spec.job_class = JobClass::BestEffort;
    spec.env = {{kGatePolicyVariable, std::move(policy)}};
    return gating_of(spec);
  };
  std::vector<std::string> free;
  for (const interpose::gate::Policy& policy : interpose::gate::policies()) {
    const std::string name(policy.name);
    EXPECT_EQ(gating(name) == Gating::OutsideOfMps, policy.needs_mps) << name;
    EXPECT_EQ(gating(name + ":50") == Gating::None, policy.takes_limit) << name;
    if (gating(name) == Gating::None) {
      free.push_back(name);
    }
  }
  EXPECT_EQ(free, (std::vector<std::string>{"tgs", "hami"}));
  for (const char* text :
       {"hami:0", "hami:", "hami:101", "hami:5x", "hami:+5", "hami:007", "hami50", "hami:0050"}) {
    EXPECT_EQ(gating(text) == Gating::None, interpose::gate::choose_policy(text).policy != nullptr)
        << text;
  }
}

TEST(ServedLatency, TheIdleBudgetIsThatOfTheGate) {
  for (const double slo_ms : {1.0, 8.0, 20.0, 45.0, 500.0}) {
    const auto budget = interpose::gate::budget_of(
        {.tightest_slo = static_cast<interpose::gate::Nanoseconds>(slo_ms * 1e6)}, 0, 132);
    EXPECT_NEAR(knowledge::gate_front_ms(slo_ms, 0.0),
                static_cast<double>(budget.idle_ns) / kMillisecond,
                1e-3)
        << slo_ms;
  }
}

TEST(ServedLatency, LaunchPhasesDelayAsMuchAsTheGateAllows) {
  const auto ns = [](double ms) { return static_cast<interpose::gate::Nanoseconds>(ms * 1e6); };
  for (const double slo_ms : {1.0, 8.0, 20.0, 45.0, 500.0}) {
    for (const double tail_ms : {slo_ms / 8.0, slo_ms / 2.0, slo_ms * 0.8, slo_ms * 0.95}) {
      const auto delay = interpose::gate::most_phase_delay(ns(slo_ms), ns(tail_ms));
      EXPECT_NEAR(
          knowledge::phase_delay_ms(slo_ms, tail_ms) + knowledge::phase_room_ms(slo_ms, tail_ms),
          static_cast<double>(delay) / kMillisecond,
          1e-3)
          << slo_ms << ", " << tail_ms;
    }
  }
}

TEST(ServedLatency, ShortRequestsHaveNoLaunchPhasesThatCount) {
  const double short_ms =
      static_cast<double>(interpose::gate::kShortPhase) / interpose::gate::kMillisecond;
  EXPECT_TRUE(knowledge::has_launch_phases({.mean_ms = short_ms}));
  EXPECT_FALSE(knowledge::has_launch_phases({.mean_ms = short_ms * 0.999}));
}

TEST(ServedLatency, RequestsFadeAsInTheLibrary) {
  for (const std::uint64_t before : {0U, 100U, 900U, 1500U, 5000U}) {
    for (const std::uint64_t since : {50U, 400U, 1000U, 3000U}) {
      interpose::gate::QuantileSketch sketch;
      for (std::uint64_t i = 0; i < before; ++i) {
        sketch.add(kMillisecond);
      }
      for (std::uint64_t i = 0; i < since; ++i) {
        sketch.add(100 * kMillisecond);
      }
      std::uint32_t old_permille = 0;
      while (old_permille < 1000 && sketch.quantile(old_permille + 1) < 10 * kMillisecond) {
        ++old_permille;
      }
      EXPECT_NEAR(knowledge::old_share(before, since), old_permille / 1000.0, 0.005)
          << before << " before, " << since << " since";
    }
  }
}

}  // namespace
}  // namespace carpool::app
