// The parts of the gate one by one: quantiles, beliefs, outer loop, work in flight, table of
// policies.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "interpose/gate/decision.hpp"
#include "interpose/gate/duration_belief.hpp"
#include "interpose/gate/gate.hpp"
#include "interpose/gate/policy.hpp"
#include "interpose/gate/quantile_sketch.hpp"
#include "interpose/gate/tail_control.hpp"

namespace carpool::interpose::gate {
namespace {

TEST(GateQuantiles, AreAtMostASixteenthTooLarge) {
  QuantileSketch sketch;
  EXPECT_EQ(sketch.quantile(990), 0);
  for (Nanoseconds value = 1; value <= 100; ++value) {
    sketch.add(value * kMillisecond);
  }
  EXPECT_EQ(sketch.count(), 100U);
  for (const std::uint32_t percent : {1U, 50U, 90U, 99U, 100U}) {
    const Nanoseconds exact = percent * kMillisecond;
    EXPECT_GE(sketch.quantile(percent * 10), exact);
    EXPECT_LE(sketch.quantile(percent * 10), exact + exact / 16);
  }
}

TEST(GateQuantiles, ForgetWhatIsOld) {
  QuantileSketch sketch(100);
  for (int i = 0; i < 100; ++i) {
    sketch.add(kSecond);
  }
  for (int i = 0; i < 1000; ++i) {
    sketch.add(kMillisecond);
  }
  EXPECT_LT(sketch.quantile(990), 2 * kMillisecond);
  EXPECT_LE(sketch.count(), 100U);
}

TEST(GateBelief, OfAnUnknownKernelIsAnUpperQuantileOfKnownOnes) {
  DurationBelief belief;
  Work work;
  belief.estimate(work, {});
  EXPECT_FALSE(work.known);
  EXPECT_EQ(work.bound_ns, kMillisecond);
  for (int i = 0; i < 96; ++i) {
    belief.learn(i % 10 == 0 ? 3 * kMillisecond : 20 * kMicrosecond);
  }
  belief.estimate(work, {});
  EXPECT_GE(work.bound_ns, 3 * kMillisecond);
  EXPECT_LE(work.bound_ns, 3 * kMillisecond * 9 / 8);
}

TEST(GateBelief, OfAKnownKernelIsItsMeanAndDeviations) {
  const DurationBelief belief;
  Work work;
  belief.estimate(work, {.mean_ns = 1000, .deviation_ns = 100, .count = 20});
  EXPECT_TRUE(work.known);
  EXPECT_EQ(work.expected_ns, 1000);
  EXPECT_EQ(work.bound_ns, 1300);
  belief.estimate(work, {.mean_ns = 1000, .deviation_ns = 100, .count = 2});
  EXPECT_EQ(work.bound_ns, 2000);  // few samples
}

TEST(GateBelief, OneSampleMakesNoKernelLongerThanAnUnknownOne) {
  const DurationBelief belief;
  Work work;
  belief.estimate(work, {.mean_ns = 8e6F, .count = 1});
  EXPECT_FALSE(work.known);
  EXPECT_EQ(work.bound_ns, kMillisecond);
  belief.estimate(work, {.mean_ns = 8e6F, .count = 2});
  EXPECT_TRUE(work.known);
  EXPECT_EQ(work.expected_ns, 8 * kMillisecond);
  belief.estimate(work, {.mean_ns = 5e4F, .count = 1});
  EXPECT_TRUE(work.known);
  belief.estimate(work, {.mean_ns = 8e6F, .count = 1, .source = KernelSource::Profile});
  EXPECT_TRUE(work.known);
}

TEST(GateTail, TakesRoomWhenTheTailIsAboveTheSloAndGivesItBackSlowly) {
  TailControl control({.first_requests = 0});
  const Nanoseconds slo = 10 * kMillisecond;
  Nanoseconds now = kSecond;
  const auto requests = [&](int count, Nanoseconds latency) {
    for (int i = 0; i < count; ++i) {
      control.request_ended(latency, slo, now += kMillisecond);
    }
  };
  requests(49, 12 * kMillisecond);
  EXPECT_EQ(control.room_permille(), 500U);
  requests(1, 12 * kMillisecond);
  EXPECT_EQ(control.room_permille(), 250U);
  EXPECT_EQ(control.time_only_until(), now + 5 * kSecond);
  requests(50, 2 * kMillisecond);
  EXPECT_EQ(control.room_permille(), 450U);
  requests(50, 8 * kMillisecond);  // between comfortable and the target: as it is
  EXPECT_EQ(control.room_permille(), 450U);
  requests(500, 20 * kMillisecond);
  EXPECT_EQ(control.room_permille(), 50U);  // never nothing
  EXPECT_EQ(control.requests(), 650U);
  EXPECT_EQ(control.within_slo(), 100U);
}

TEST(GateTail, AFewLateRequestsMakeNoTail) {
  TailControl control({.first_requests = 0});
  const Nanoseconds slo = 10 * kMillisecond;
  Nanoseconds now = kSecond;
  const auto requests = [&](int late) {
    for (int i = 0; i < 50; ++i) {
      const Nanoseconds latency = i < late ? kSecond : 2 * kMillisecond;
      control.request_ended(latency, slo, now += kMillisecond);
    }
  };
  requests(2);
  EXPECT_EQ(control.room_permille(), 700U);
  requests(2);  // 4 of 100: 1 is expected, 2 are by chance, 1 more
  EXPECT_EQ(control.room_permille(), 900U);
  EXPECT_EQ(control.time_only_until(), 0);
  requests(1);  // 5 of 150
  EXPECT_EQ(control.room_permille(), 450U);
  EXPECT_EQ(control.time_only_until(), now + 5 * kSecond);
}

TEST(GateTail, TheFirstRequestsOfAProgramTellNothing) {
  TailControl control;
  Nanoseconds now = kSecond;
  for (int i = 0; i < 20; ++i) {
    control.request_ended(kSecond, kMillisecond, now += kSecond);
  }
  for (int i = 0; i < 50; ++i) {
    control.request_ended(1, kMillisecond, now += kMillisecond);
  }
  EXPECT_EQ(control.room_permille(), 700U);
  EXPECT_EQ(control.time_only_until(), 0);
  EXPECT_EQ(control.requests(), 70U);
  EXPECT_EQ(control.within_slo(), 50U);
}

TEST(GateTail, TooFewRequestsTellNothing) {
  TailControl control({.first_requests = 0});
  for (Nanoseconds second = 1; second < 20; ++second) {
    control.request_ended(kSecond, kMillisecond, second * kSecond);
  }
  EXPECT_EQ(control.room_permille(), 500U);
  control.request_ended(kSecond, kMillisecond, 20 * kSecond);
  EXPECT_EQ(control.room_permille(), 250U);
}

TEST(GatePolicies, HaveNamesAndTheFirstIsTheDefault) {
  std::set<std::string_view> names;
  for (const Policy& policy : policies()) {
    names.insert(policy.name);
    EXPECT_EQ(find_policy(policy.name), &policy);
    EXPECT_FALSE(policy.summary.empty());
  }
  const std::set<std::string_view> expected{"spacetime",
                                            "time",
                                            "priority",
                                            "orion",
                                            "reef-n",
                                            "tgs",
                                            "xsched-lv1",
                                            "hami",
                                            "antman",
                                            "salus"};
  EXPECT_EQ(names, expected);
  EXPECT_EQ(policies().front().name, "spacetime");
  EXPECT_EQ(find_policy("fifo"), nullptr);
}

TEST(GatePolicies, AreChosenByNameAndLimit) {
  EXPECT_EQ(choose_policy("time").policy, find_policy("time"));
  EXPECT_EQ(choose_policy("time").limit_permille, 1000U);
  EXPECT_EQ(choose_policy("hami").limit_permille, 1000U);
  for (const auto& [text, permille] : std::map<std::string_view, std::uint32_t>{
           {"hami:1", 10}, {"hami:50", 500}, {"hami:100", 1000}}) {
    EXPECT_EQ(choose_policy(text).policy, find_policy("hami")) << text;
    EXPECT_EQ(choose_policy(text).limit_permille, permille) << text;
  }
  for (const std::string_view wrong : {"",
                                       ":",
                                       ":50",
                                       "fifo:50",
                                       "time:50",
                                       "hami:",
                                       "hami:0",
                                       "hami:101",
                                       "hami:-5",
                                       "hami:5x",
                                       "hami:50:1",
                                       "hami:4294967346"}) {
    EXPECT_EQ(choose_policy(wrong).policy, nullptr) << wrong;
  }
}

TEST(GatePolicies, AdmitEverythingOfClientsThatAreNotKnown) {
  for (const Policy& policy : policies()) {
    const auto gate = std::make_unique<Gate>(policy, DeviceFacts{});
    EXPECT_TRUE(gate->ask({.client = 3, .bound_ns = kSecond}, 0).admitted);
    EXPECT_TRUE(gate->ask({.client = kMostClients, .bound_ns = kSecond}, 0).admitted);
  }
}

TEST(GatePolicies, DoNotBoundBestEffortWorkWithoutAnSloClient) {
  for (const std::string_view name :
       {"spacetime", "time", "orion", "reef-n", "xsched-lv1", "antman", "tgs"}) {
    const auto gate = std::make_unique<Gate>(*find_policy(name), DeviceFacts{});
    gate->apply({.kind = EventKind::Joined, .client = 1});
    for (int i = 0; i < 100; ++i) {
      const Work work{
          .client = 1, .expected_ns = kMillisecond, .bound_ns = kMillisecond, .blocks = 10000};
      const Decision decision = gate->ask(work, i);
      EXPECT_TRUE(decision.admitted) << name;
      gate->apply({.kind = EventKind::Submitted, .client = 1, .now = i, .work = work});
    }
  }
}

// An SLO client 0 and a best-effort client 1, whose kernels have a bound of 1 ms.
class GateInFlight : public testing::Test {
 protected:
  GateInFlight() {
    tell(EventKind::Joined, 0, 0);
    tell(EventKind::Joined, 1, 0);
  }
  void tell(EventKind kind, std::uint32_t client, Nanoseconds now) {
    gate_->apply(
        {.kind = kind, .client = client, .now = now, .work = work_, .terms = terms_[client]});
  }
  [[nodiscard]] Nanoseconds ends_in(Nanoseconds now) const {
    return gate_->view(work_, now).best_effort.ends_in;
  }

  Work work_{.client = 1, .expected_ns = kMillisecond, .bound_ns = kMillisecond};
  std::array<ClientTerms, 2> terms_{
      ClientTerms{.job_class = JobClass::Slo, .slo_ns = 20 * kMillisecond}, ClientTerms{}};
  std::unique_ptr<Gate> gate_ = std::make_unique<Gate>(*find_policy("spacetime"), DeviceFacts{});
};

TEST_F(GateInFlight, AKernelBeginsWhenTheOneBeforeItIsDone) {
  tell(EventKind::Submitted, 1, 0);
  EXPECT_EQ(ends_in(950 * kMicrosecond), 50 * kMicrosecond);
  tell(EventKind::Submitted, 1, 950 * kMicrosecond);
  tell(EventKind::Finished, 1, 1500 * kMicrosecond);  // half a millisecond above its bound
  EXPECT_EQ(ends_in(2000 * kMicrosecond), 500 * kMicrosecond);
  tell(EventKind::Finished, 1, 2100 * kMicrosecond);
  tell(EventKind::Submitted, 1, 2100 * kMicrosecond);
  tell(EventKind::Submitted, 1, 2150 * kMicrosecond);
  tell(EventKind::Finished, 1, 2300 * kMicrosecond);  // far below its bound
  EXPECT_EQ(ends_in(2300 * kMicrosecond), kMillisecond);
}

TEST_F(GateInFlight, TheEndOfAKernelThatRanBesideARequestIsNotKnown) {
  tell(EventKind::Submitted, 1, 0);
  tell(EventKind::Submitted, 0, 200 * kMicrosecond);
  tell(EventKind::Finished, 0, 400 * kMicrosecond);
  EXPECT_EQ(ends_in(980 * kMicrosecond), kNever);
  EXPECT_EQ(ends_in(1500 * kMicrosecond), kNever);
  tell(EventKind::Finished, 1, 1600 * kMicrosecond);
  tell(EventKind::Submitted, 1, 1600 * kMicrosecond);
  EXPECT_EQ(ends_in(2000 * kMicrosecond), 600 * kMicrosecond);
}

TEST(GateHolds, HaveDistinctNamesAndWords) {
  std::set<std::string_view> names;
  std::set<std::string_view> words;
  for (std::uint32_t reason = 0; reason < kHoldReasons; ++reason) {
    names.insert(name_of(static_cast<HoldReason>(reason)));
    words.insert(words_for(static_cast<HoldReason>(reason)));
  }
  EXPECT_EQ(names.size(), kHoldReasons);
  EXPECT_EQ(words.size(), kHoldReasons);
  EXPECT_EQ(name_of(HoldReason::IterationOfOther), "iteration-of-other");
  EXPECT_EQ(name_of(HoldReason::TailOverSlo), "tail-over-slo");
  EXPECT_EQ(
      words_for(HoldReason::TailOverSlo),
      "the measured tail is above 90 % of the SLO: nothing runs beside requests for some seconds");
}

}  // namespace
}  // namespace carpool::interpose::gate
