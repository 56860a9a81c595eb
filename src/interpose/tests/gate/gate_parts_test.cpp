// The parts of the gate one by one: quantiles, beliefs, requests, slack, outer loop, table.
#include <memory>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "interpose/gate/decision.hpp"
#include "interpose/gate/duration_belief.hpp"
#include "interpose/gate/gate.hpp"
#include "interpose/gate/policy.hpp"
#include "interpose/gate/quantile_sketch.hpp"
#include "interpose/gate/queue_wait.hpp"
#include "interpose/gate/request_detector.hpp"
#include "interpose/gate/slack.hpp"
#include "interpose/gate/tail_control.hpp"

namespace carpool::interpose::gate {
namespace {

TEST(GateQuantiles, AreAtMostAnEighthTooLarge) {
  QuantileSketch sketch;
  EXPECT_EQ(sketch.quantile(990), 0);
  for (Nanoseconds value = 1; value <= 100; ++value) {
    sketch.add(value * kMillisecond);
  }
  EXPECT_EQ(sketch.count(), 100U);
  for (const std::uint32_t percent : {1U, 50U, 90U, 99U, 100U}) {
    const Nanoseconds exact = percent * kMillisecond;
    EXPECT_GE(sketch.quantile(percent * 10), exact);
    EXPECT_LE(sketch.quantile(percent * 10), exact + exact / 8);
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

TEST(GateRequests, BeginWithALaunchAfterIdleAndEndAfterTheQuietTime) {
  RequestDetector detector({.quiet_ns = 250, .lease_ns = 100000});
  EXPECT_EQ(detector.phase(0), RequestPhase::Idle);
  EXPECT_TRUE(detector.launched(100, 1000));
  EXPECT_FALSE(detector.launched(100, 1050));  // works until 1200
  EXPECT_EQ(detector.phase(1199), RequestPhase::Busy);
  EXPECT_EQ(detector.phase(1200), RequestPhase::Quiet);
  EXPECT_EQ(detector.idle_at(1200), 1300);
  EXPECT_EQ(detector.take_end(1299), RequestEnd::None);
  EXPECT_EQ(detector.take_end(1300), RequestEnd::Finished);
  EXPECT_EQ(detector.finished_at(), 1200);
  EXPECT_EQ(detector.take_end(1400), RequestEnd::None);  // told once
  EXPECT_TRUE(detector.launched(100, 2000));
}

TEST(GateRequests, LastAsLongAsTheWorkThatWasLaunched) {
  RequestDetector detector({.quiet_ns = 250, .lease_ns = 100000});
  EXPECT_TRUE(detector.launched(5000, 0));  // one long graph, then silence
  EXPECT_EQ(detector.phase(4999), RequestPhase::Busy);
  detector.finished(0, 3000);
  EXPECT_EQ(detector.phase(3000), RequestPhase::Idle);
}

// Its kernels wait behind others: the request has not ended because their time is over.
TEST(GateRequests, LastUntilReportedWorkIsDone) {
  RequestDetector detector({.quiet_ns = 250, .lease_ns = 100000, .reports = true});
  EXPECT_TRUE(detector.launched(100, 0));
  EXPECT_FALSE(detector.launched(100, 10));
  detector.finished(1, 5000);
  EXPECT_EQ(detector.phase(6000), RequestPhase::Busy);
  detector.finished(0, 7000);
  EXPECT_EQ(detector.take_end(7000), RequestEnd::Finished);
  EXPECT_EQ(detector.finished_at(), 7000);
}

TEST(GateRequests, OfASilentClientLapse) {
  RequestDetector detector({.quiet_ns = 250, .lease_ns = 1000});
  detector.began(0);
  EXPECT_EQ(detector.phase(999), RequestPhase::Busy);
  EXPECT_EQ(detector.phase(1000), RequestPhase::Idle);
  EXPECT_EQ(detector.take_end(1000), RequestEnd::Lapsed);
  detector.began(5000);
  detector.alive(5900);
  EXPECT_EQ(detector.phase(6800), RequestPhase::Busy);
  detector.ended(6850);
  EXPECT_EQ(detector.phase(6850), RequestPhase::Idle);
  EXPECT_EQ(detector.take_end(7000), RequestEnd::None);
}

TEST(GateSlack, IsTheDeadlineLessWhatIsLeftToDo) {
  RequestBook book;
  book.began(1000, 1000 + 10 * kMillisecond);
  EXPECT_EQ(book.slack(1000), 10 * kMillisecond);  // nothing is known of its work yet
  book.submitted(4 * kMillisecond);
  EXPECT_EQ(book.slack(1000), 6 * kMillisecond);
  book.finished(kMillisecond);
  EXPECT_EQ(book.remaining(), 3 * kMillisecond);
  EXPECT_EQ(book.slack(1000 + 8 * kMillisecond), -kMillisecond);
  EXPECT_EQ(book.ended(1000 + 5 * kMillisecond), 5 * kMillisecond);

  // The second request is expected to take what the first one took (4 and 5 ms, rounded up by an
  // eighth at most), gaps between launches included.
  book.began(kSecond, kSecond + 10 * kMillisecond);
  EXPECT_GE(book.remaining(), 5 * kMillisecond);
  EXPECT_LE(book.remaining(), 5 * kMillisecond * 9 / 8);
  book.submitted(2 * kMillisecond);
  book.finished(2 * kMillisecond);
  EXPECT_GE(book.remaining(), 2 * kMillisecond);
  EXPECT_LE(book.remaining(), 5 * kMillisecond * 9 / 16 + kMillisecond / 4);
}

TEST(GateSlack, ExpectsTheNextRequestOnlyIfArrivalsAreRegular) {
  RequestBook regular;
  RequestBook irregular;
  for (int i = 0; i < 40; ++i) {
    regular.began(kMillisecond * 10 * i, kNever);
    irregular.began(kMillisecond * 10 * (i + (i % 2 == 0 ? 0 : 3)), kNever);
  }
  const Nanoseconds due = 400 * kMillisecond;
  EXPECT_LE(regular.next_arrival(), due);
  EXPECT_GE(regular.next_arrival(), due - kMillisecond);
  EXPECT_EQ(irregular.next_arrival(), kNever);
}

TEST(GateTail, TakesRoomWhenTheTailIsAboveTheSloAndGivesItBackSlowly) {
  TailControl control;
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
  TailControl control;
  const Nanoseconds slo = 10 * kMillisecond;
  Nanoseconds now = kSecond;
  const auto requests = [&](int late) {
    for (int i = 0; i < 50; ++i) {
      const Nanoseconds latency = i < late ? kSecond : 2 * kMillisecond;
      control.request_ended(latency, slo, now += kMillisecond);
    }
  };
  requests(2);  // load its kernels
  EXPECT_EQ(control.room_permille(), 700U);
  requests(2);  // 4 of 100: 1 is expected, 2 are by chance, 1 more
  EXPECT_EQ(control.room_permille(), 900U);
  EXPECT_EQ(control.time_only_until(), 0);
  requests(1);  // 5 of 150
  EXPECT_EQ(control.room_permille(), 450U);
  EXPECT_EQ(control.time_only_until(), now + 5 * kSecond);
}

TEST(GateTail, TooFewRequestsTellNothing) {
  TailControl control;
  for (Nanoseconds second = 1; second < 20; ++second) {
    control.request_ended(kSecond, kMillisecond, second * kSecond);
  }
  EXPECT_EQ(control.room_permille(), 500U);
  control.request_ended(kSecond, kMillisecond, 20 * kSecond);
  EXPECT_EQ(control.room_permille(), 250U);
}

TEST(GateQueueWait, ARequestThatFollowsAnotherAtOnceHasWaited) {
  QueueWait wait(kMillisecond);
  EXPECT_EQ(wait.began(0), 0);
  wait.ended(8 * kMillisecond, 8 * kMillisecond);
  EXPECT_EQ(wait.began(9 * kMillisecond), 0);  // after a pause
  wait.ended(17 * kMillisecond, 8 * kMillisecond);
  EXPECT_EQ(wait.began(17 * kMillisecond + 1), 6 * kMillisecond);
  wait.ended(25 * kMillisecond, 14 * kMillisecond);
  EXPECT_EQ(wait.began(25 * kMillisecond), 10'500 * kMicrosecond);
}

TEST(GateQueueWait, AProgramWithoutPausesSendsOneRequestAfterTheOther) {
  QueueWait wait(kMillisecond);
  Nanoseconds now = 0;
  Nanoseconds waited = 0;
  for (int i = 0; i < 40; ++i) {
    waited = wait.began(now);
    now += 8 * kMillisecond;
    wait.ended(now, 8 * kMillisecond);
  }
  EXPECT_EQ(waited, 0);
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
}

}  // namespace
}  // namespace carpool::interpose::gate
