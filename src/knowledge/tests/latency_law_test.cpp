// The figures are computed by hand from the formulas of docs/knowledge.md.
#include "knowledge/latency/latency_law.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace carpool::knowledge {
namespace {

// sigma 0.2: ln(tail / p50) = 0.2 * 2.326348.
constexpr double kTail = 15.92414;

TEST(LatencyLaw, QuantilesOfTheNormalDistribution) {
  EXPECT_NEAR(normal_quantile(0.5), 0.0, 1e-9);
  EXPECT_NEAR(normal_quantile(0.99), 2.326348, 1e-6);
  EXPECT_NEAR(normal_quantile(0.9), 1.281552, 1e-6);
  EXPECT_NEAR(normal_quantile(0.1), -1.281552, 1e-6);
}

TEST(LatencyLaw, MomentsOfALogNormalServiceTime) {
  const ServiceMoments moments = service_moments(10.0, kTail, 0.99);
  EXPECT_NEAR(moments.mean_ms, 10.0 * std::exp(0.02), 1e-4);
  EXPECT_NEAR(moments.square_ms2, 100.0 * std::exp(0.08), 1e-3);
  // A tail at the median: each request takes as long.
  EXPECT_DOUBLE_EQ(service_moments(5.0, 5.0, 0.99).square_ms2, 25.0);
}

TEST(LatencyLaw, MomentsBesideOthers) {
  // 2 * 10 + 3 / 2 = 21.5; 4 * 120 + 2 * 10 * 3 + 9 / 3 = 543.
  const ServiceMoments moments =
      hindered_moments({.mean_ms = 10.0, .square_ms2 = 120.0}, {.stretch = 2.0, .front_ms = 3.0});
  EXPECT_DOUBLE_EQ(moments.mean_ms, 21.5);
  EXPECT_DOUBLE_EQ(moments.square_ms2, 543.0);
}

TEST(LatencyLaw, WaitingTimeOfMG1) {
  // lambda 0.04 / ms, rho 0.40808, E[W] = 0.04 * 108.3287 / (2 * 0.59192) = 3.66026;
  // 3.66026 / 0.40808 * ln(0.40808 / 0.01) = 33.266.
  const ServiceMoments service = service_moments(10.0, kTail, 0.99);
  EXPECT_NEAR(waiting_ms(service, 40.0, 0.99), 33.266, 0.01);
  EXPECT_EQ(waiting_ms(service, 40.0, 0.5), 0.0);  // 59 % of the requests do not wait
  EXPECT_EQ(waiting_ms(service, 0.0, 0.99), 0.0);
  // A service that does not keep up counts as busy for 98 % of the time.
  EXPECT_NEAR(waiting_ms({.mean_ms = 10.0, .square_ms2 = 100.0}, 200.0, 0.5),
              0.2 * 100.0 / (2.0 * 0.02) / 0.98 * std::log(0.98 / 0.5),
              1e-6);
}

TEST(LatencyLaw, WorkInFrontDelaysEveryRequest) {
  // No request waits at this rate: the tail grows by the work in front, the median by half of it.
  const Latency beside = hindered(
      {.p50_ms = 4.0, .tail_ms = 6.0, .quantile = 0.99, .requests_per_s = 0.5}, {.front_ms = 1.0});
  EXPECT_DOUBLE_EQ(beside.p50_ms, 4.5);
  EXPECT_DOUBLE_EQ(beside.tail_ms, 7.0);
}

TEST(LatencyLaw, ALongerServiceMakesTheQueueLonger) {
  // Constant service of 4 ms, then 8 ms, 50 requests a second. rho 0.2: E[W] = 0.05 * 16 / 1.6 =
  // 0.5, W99 = 0.5 / 0.2 * ln 20 = 7.489. rho 0.4: E[W] = 0.05 * 64 / 1.2 = 2.6667, W99 = 6.6667 *
  // ln 40 = 24.593. 8 + 24.593 - 7.489 = 25.104.
  const SoloLatency solo{.p50_ms = 4.0, .tail_ms = 4.0, .quantile = 0.99, .requests_per_s = 50.0};
  const Latency beside = hindered(solo, {.stretch = 2.0});
  EXPECT_NEAR(beside.tail_ms, 25.104, 0.001);
  EXPECT_DOUBLE_EQ(beside.p50_ms, 8.0);
  EXPECT_DOUBLE_EQ(hindered_service(solo, {.stretch = 2.0}).tail_ms, 8.0);
  EXPECT_DOUBLE_EQ(hindered(solo, {}).tail_ms, 4.0);
}

TEST(LatencyLaw, WhatTheGateLetsInFront) {
  EXPECT_DOUBLE_EQ(gate_front_ms(20.0, 0.2), 0.4);  // the idle budget, 2 % of the SLO
  EXPECT_DOUBLE_EQ(gate_front_ms(20.0, 0.9), 0.9);  // one kernel
  EXPECT_DOUBLE_EQ(gate_front_ms(20.0, 9.0), 5.0);  // none longer than a quarter of the SLO
  EXPECT_DOUBLE_EQ(gate_front_ms(20.0, std::nullopt), 1.0);  // as the gate counts unknown ones
  EXPECT_DOUBLE_EQ(gate_front_ms(200.0, 0.1), 1.0);          // the idle budget is 1 ms at most
  EXPECT_DOUBLE_EQ(gate_front_ms(2.0, 0.01), 0.1);           // and 0.1 ms at least
}

TEST(LatencyLaw, SlicesOfTime) {
  EXPECT_DOUBLE_EQ(by_slices(2).stretch, 3.0);
  EXPECT_DOUBLE_EQ(by_slices(2).front_ms, 4.0);
}

TEST(LatencyLaw, OldRequestsFade) {
  EXPECT_DOUBLE_EQ(old_share(0, 100), 0.0);
  EXPECT_DOUBLE_EQ(old_share(0, 0), 0.0);
  EXPECT_DOUBLE_EQ(old_share(300, 100), 0.75);
  // 1,280 requests: 768 count. 256 later they are halved: 384 of 512; 512 later again: 192.
  EXPECT_DOUBLE_EQ(old_share(1280, 256), 0.75);
  EXPECT_DOUBLE_EQ(old_share(1280, 768), 0.375);
  EXPECT_LT(old_share(100'000, 6000), 0.001);
}

}  // namespace
}  // namespace carpool::knowledge
