// Single decisions of the policies, from views that are written by hand.
#include <memory>

#include <gtest/gtest.h>

#include "interpose/gate/gate.hpp"
#include "interpose/gate/policy.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr Nanoseconds kNow = 100 * kSecond;
constexpr Nanoseconds kSlo = 20 * kMillisecond;

Work known_work(Nanoseconds bound, std::uint32_t sms = 132) {
  return {.client = 1, .known = true, .expected_ns = bound, .bound_ns = bound, .sms = sms};
}

// MPS, an SLO client without a request, full budgets.
GateView idle_view() {
  GateView view;
  view.device = {.mps = true, .sm_limits = true};
  view.budget = {.idle_ns = kMillisecond, .active_ns = 200 * kMicrosecond, .active_sms = 66};
  view.slo.present = true;
  view.slo.tightest_slo = kSlo;
  view.slo.idle_at = kNow;
  return view;
}

GateView active_view() {
  GateView view = idle_view();
  view.slo.phase = RequestPhase::Busy;
  view.slo.idle_at = kNow + 3 * kMillisecond;
  view.slo.least_slack = kSlo / 2;
  view.slo.slo_of_least = kSlo;
  view.slo.commands = 1;
  return view;
}

Decision decide_by(const char* policy, const GateView& view, const Work& work) {
  const PolicyMemory memory;
  return find_policy(policy)->decide(view, memory, work, kNow);
}

TEST(GateSpacetime, BoundsWorkInFlightBetweenRequests) {
  GateView view = idle_view();
  EXPECT_TRUE(decide_by("spacetime", view, known_work(3 * kMillisecond)).admitted);  // nothing else
  view.best_effort.in_flight_ns = 900 * kMicrosecond;
  EXPECT_TRUE(decide_by("spacetime", view, known_work(100 * kMicrosecond)).admitted);
  EXPECT_EQ(decide_by("spacetime", view, known_work(101 * kMicrosecond)).reason,
            HoldReason::InFlightBound);
}

TEST(GateSpacetime, KeepsShortKernelsQueuedBehindWhatIsAboutToEnd) {
  GateView view = idle_view();
  view.budget.backlog_ns = 400 * kMicrosecond;
  view.best_effort = {.in_flight_ns = kMillisecond, .ends_in = 300 * kMicrosecond};
  EXPECT_TRUE(decide_by("spacetime", view, known_work(100 * kMicrosecond)).admitted);
  EXPECT_EQ(decide_by("spacetime", view, known_work(101 * kMicrosecond)).reason,
            HoldReason::InFlightBound);
  view.best_effort.ends_in = kNever;  // not known
  EXPECT_EQ(decide_by("spacetime", view, known_work(kMicrosecond)).reason,
            HoldReason::InFlightBound);
}

TEST(GateSpacetime, ConfinesOrHoldsAKernelThatIsLongForTheSlo) {
  GateView view = idle_view();
  const Work work = known_work(kSlo / 4 + 1);
  EXPECT_EQ(decide_by("spacetime", view, work).sms, 64U);
  view.device.sm_limits = false;
  EXPECT_EQ(decide_by("spacetime", view, work).reason, HoldReason::LongForSlo);
  view.slo.next_arrival = kNow + kSlo;  // it ends before
  EXPECT_TRUE(decide_by("spacetime", view, work).admitted);
}

TEST(GateSpacetime, LaunchesOnlyWhatEndsBeforeAnExpectedRequest) {
  GateView view = idle_view();
  view.slo.next_arrival = kNow + 500 * kMicrosecond;
  EXPECT_TRUE(decide_by("spacetime", view, known_work(400 * kMicrosecond)).admitted);
  const Decision held = decide_by("spacetime", view, known_work(600 * kMicrosecond));
  EXPECT_EQ(held.reason, HoldReason::ArrivalExpected);
  EXPECT_EQ(held.until, kNow + 501 * kMicrosecond);
}

TEST(GateSpacetime, SharesInSpaceBesideARequestOnlyWhileThereIsSlack) {
  GateView view = active_view();
  const Work light = known_work(20 * kMicrosecond, 33);
  EXPECT_TRUE(decide_by("spacetime", view, light).admitted);
  EXPECT_TRUE(decide_by("spacetime", view, light).low_priority);
  EXPECT_EQ(decide_by("spacetime", view, light).sms, 0U);
  view.best_effort.in_flight_ns = 190 * kMicrosecond;
  EXPECT_EQ(decide_by("spacetime", view, light).reason, HoldReason::InFlightBound);
  view = active_view();
  view.slo.least_slack = kSlo * 29 / 100;
  EXPECT_EQ(decide_by("spacetime", view, light).reason, HoldReason::SlackShort);
  view = active_view();
  view.budget.time_only_until = kNow + kSecond;
  EXPECT_EQ(decide_by("spacetime", view, light).reason, HoldReason::TailOverSlo);
  view = active_view();
  view.device.mps = false;
  EXPECT_EQ(decide_by("spacetime", view, light).reason, HoldReason::RequestActive);
  EXPECT_EQ(decide_by("time", active_view(), light).reason, HoldReason::RequestActive);
  view.slo.phase = RequestPhase::Quiet;
  EXPECT_EQ(decide_by("time", view, light).reason, HoldReason::QuietTime);
}

TEST(GateSpacetime, ConfinesALightKernelThatWouldOccupyAllSms) {
  GateView view = active_view();
  view.slo.remaining = 0;  // the request may end at any time
  Work light = known_work(20 * kMicrosecond);
  EXPECT_EQ(decide_by("spacetime", view, light).sms, 64U);
  EXPECT_EQ(decide_by("spacetime", view, known_work(10 * kMicrosecond)).sms, 0U);  // soon gone
  light.least_sms = 132;
  EXPECT_TRUE(decide_by("spacetime", view, light).admitted);
  EXPECT_EQ(decide_by("spacetime", view, light).sms, 0U);
  view.device.sm_limits = false;
  EXPECT_TRUE(decide_by("spacetime", view, light).admitted);
}

TEST(GateSpacetime, ConfinesOneHeavyKernelBesideARequest) {
  GateView view = active_view();
  view.slo.remaining = kMillisecond;
  const Work heavy = known_work(400 * kMicrosecond);
  EXPECT_EQ(decide_by("spacetime", view, heavy).sms, 64U);
  view.best_effort.confined_ns = 1;
  EXPECT_EQ(decide_by("spacetime", view, heavy).reason, HoldReason::InFlightBound);
  view.best_effort.confined_ends_in = view.budget.lead_ns;
  EXPECT_EQ(decide_by("spacetime", view, heavy).sms, 64U);
  view.best_effort = {};
  Work other = heavy;
  for (const WorkKind kind : {WorkKind::Graph, WorkKind::Cooperative}) {
    other.kind = kind;
    EXPECT_EQ(decide_by("spacetime", view, other).reason, HoldReason::HeavyBesideRequest);
  }
  other = heavy;
  other.known = false;
  EXPECT_EQ(decide_by("spacetime", view, other).reason, HoldReason::HeavyBesideRequest);
}

TEST(GateSpacetime, ConfinesNoKernelThatEndsSoonerAfterTheRequest) {
  GateView view = active_view();
  const Work heavy = known_work(640 * kMicrosecond);  // 1320 on 64 of 132 SMs
  view.slo.remaining = 680 * kMicrosecond;
  EXPECT_EQ(decide_by("spacetime", view, heavy).sms, 64U);
  view.slo.remaining -= 1;
  EXPECT_EQ(decide_by("spacetime", view, heavy).reason, HoldReason::HeavyBesideRequest);
}

TEST(GateSpacetime, AShortKernelThatNeedsAllSmsRunsBesideARequest) {
  GateView view = active_view();
  view.slo.remaining = kSecond;
  Work work = known_work(90 * kMicrosecond);
  EXPECT_EQ(decide_by("spacetime", view, work).sms, 64U);
  work.least_sms = 65;
  EXPECT_TRUE(decide_by("spacetime", view, work).admitted);
  EXPECT_EQ(decide_by("spacetime", view, work).sms, 0U);
  view.best_effort.in_flight_ns = view.budget.active_ns - work.bound_ns + 1;
  EXPECT_EQ(decide_by("spacetime", view, work).reason, HoldReason::InFlightBound);
  view.best_effort = {};
  work.bound_ns = 101 * kMicrosecond;
  EXPECT_EQ(decide_by("spacetime", view, work).reason, HoldReason::HeavyBesideRequest);
}

TEST(GateSpacetime, ALongKernelFollowsTheLastOneShortlyBeforeItsEnd) {
  GateView view = idle_view();
  const Work work = known_work(2 * kMillisecond);
  view.best_effort = {.in_flight_ns = kMillisecond, .ends_in = view.budget.lead_ns + 1};
  EXPECT_EQ(decide_by("spacetime", view, work).reason, HoldReason::InFlightBound);
  view.best_effort.ends_in = view.budget.lead_ns;
  EXPECT_TRUE(decide_by("spacetime", view, work).admitted);
}

TEST(GateSpacetime, KeepsTheMinimumShare) {
  GateView view = active_view();
  view.device.mps = false;
  const Work work = known_work(kMillisecond);
  view.caller.held_for = 49 * kMillisecond;
  const Decision held = decide_by("spacetime", view, work);
  EXPECT_FALSE(held.admitted);
  EXPECT_EQ(held.until, kNow + kMillisecond);
  view.caller.held_for = 50 * kMillisecond;
  EXPECT_TRUE(decide_by("spacetime", view, work).by_minimum_share);
  view.best_effort.in_flight_ns = 1;  // of another client
  EXPECT_FALSE(decide_by("spacetime", view, work).admitted);
}

TEST(GateSpacetime, LetsClientsTakeTurns) {
  GateView view = idle_view();
  view.caller.turn_lag = view.budget.idle_ns;
  EXPECT_TRUE(decide_by("spacetime", view, known_work(1000)).admitted);
  view.caller.turn_lag += 1;
  EXPECT_EQ(decide_by("spacetime", view, known_work(1000)).reason, HoldReason::OtherClientsTurn);
}

TEST(GateSpacetime, LetsAnSloClientWithSlackWaitForATighterOne) {
  GateView view = active_view();
  view.caller.job_class = JobClass::Slo;
  view.caller.slo_ns = kSlo;
  view.caller.slack = kSlo * 6 / 10;
  EXPECT_TRUE(decide_by("spacetime", view, known_work(1000)).admitted);
  view.slo.least_slack = kSlo / 20;
  const Decision held = decide_by("spacetime", view, known_work(1000));
  EXPECT_EQ(held.reason, HoldReason::TighterRequest);
  EXPECT_EQ(held.until, kNow + kSlo / 10);
  view.caller.slack = kSlo / 2;
  EXPECT_TRUE(decide_by("spacetime", view, known_work(1000)).admitted);
}

TEST(GatePeers, CountCommandsOrFollowSlots) {
  GateView view = idle_view();
  view.caller.commands_in_flight = 2;
  EXPECT_EQ(decide_by("reef-n", view, known_work(1)).reason, HoldReason::CommandsInFlight);
  EXPECT_TRUE(decide_by("xsched-lv1", view, known_work(1)).admitted);
  view.caller.commands_in_flight = 16;
  EXPECT_EQ(decide_by("xsched-lv1", view, known_work(1)).reason, HoldReason::CommandsInFlight);
  view.slo.next_arrival = kNow + 1000;
  EXPECT_TRUE(decide_by("antman", view, known_work(1000)).admitted);
  EXPECT_EQ(decide_by("antman", view, known_work(1001)).reason, HoldReason::IdleSlotTooShort);
  for (const char* policy : {"reef-n", "xsched-lv1", "antman"}) {
    EXPECT_EQ(decide_by(policy, active_view(), known_work(1)).reason, HoldReason::RequestActive);
  }
  EXPECT_TRUE(decide_by("priority", active_view(), known_work(kSecond)).low_priority);
}

// The rate of the SLO client falls to 80 % while best-effort work runs: a tenth of the limit stays.
TEST(GatePeers, TgsFollowsTheRateOfTheSloClient) {
  const Policy& tgs = *find_policy("tgs");
  PolicyMemory memory;
  Nanoseconds now = kNow;
  const auto window = [&](std::uint64_t blocks) {
    tgs.observe(memory,
                {},
                {.kind = EventKind::Submitted,
                 .now = now += 1,
                 .work = {.blocks = blocks},
                 .terms = {.job_class = JobClass::Slo}});
    tgs.observe(memory, {}, {.kind = EventKind::Clock, .now = now += 5 * kSecond});
  };
  window(0);  // nothing to compare with yet
  EXPECT_EQ(memory.rate.limit_blocks, 1500U);
  window(10000);
  const std::uint64_t grown = memory.rate.limit_blocks;
  EXPECT_EQ(grown, 2250U);  // slow start
  window(9500);             // 5 % missing: back, and slow start ends
  EXPECT_EQ(memory.rate.limit_blocks, grown * 2 / 3);
  EXPECT_FALSE(memory.rate.slow_start);
  const std::uint64_t before = memory.rate.limit_blocks;
  window(8000);
  EXPECT_EQ(memory.rate.limit_blocks, before / 10);
  EXPECT_TRUE(memory.rate.slow_start);
}

TEST(GateCounts, HoldsAndHeldTimeByReason) {
  const auto gate = std::make_unique<Gate>(*find_policy("time"), DeviceFacts{});
  gate->apply({.kind = EventKind::Joined,
               .client = 0,
               .terms = {.job_class = JobClass::Slo, .slo_ns = kSlo}});
  gate->apply({.kind = EventKind::Joined, .client = 1});
  gate->apply({.kind = EventKind::RequestBegan, .client = 0, .now = kNow});
  const Work work = known_work(kMillisecond);
  EXPECT_FALSE(gate->ask(work, kNow).admitted);
  EXPECT_FALSE(gate->ask(work, kNow + 300).admitted);
  gate->apply({.kind = EventKind::RequestEnded, .client = 0, .now = kNow + 400});
  EXPECT_TRUE(gate->ask(work, kNow + 500).admitted);
  const auto reason = static_cast<std::size_t>(HoldReason::RequestActive);
  EXPECT_EQ(gate->client(1).holds[reason], 1U);
  EXPECT_EQ(gate->client(1).held_ns[reason], 500);
  EXPECT_EQ(gate->client(0).tail.requests(), 1U);
  EXPECT_EQ(gate->client(0).tail.within_slo(), 1U);
}

}  // namespace
}  // namespace carpool::interpose::gate
