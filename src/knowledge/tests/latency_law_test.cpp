// The figures are computed by hand from the formulas of docs/knowledge.md.
#include "knowledge/latency/latency_law.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace carpool::knowledge {
namespace {

TEST(LatencyLaw, QuantilesOfTheNormalDistribution) {
  EXPECT_NEAR(normal_quantile(0.5), 0.0, 1e-9);
  EXPECT_NEAR(normal_quantile(0.99), 2.326348, 1e-6);
  EXPECT_NEAR(normal_quantile(0.9), 1.281552, 1e-6);
  EXPECT_NEAR(normal_quantile(0.1), -1.281552, 1e-6);
}

TEST(LatencyLaw, MomentsBesideOthers) {
  // 2 * 10 + 3 / 2 = 21.5; 4 * 120 + 2 * 10 * 3 + 9 / 3 = 543.
  const ServiceMoments moments =
      hindered_moments({.mean_ms = 10.0, .square_ms2 = 120.0}, {.stretch = 2.0, .front_ms = 3.0});
  EXPECT_DOUBLE_EQ(moments.mean_ms, 21.5);
  EXPECT_DOUBLE_EQ(moments.square_ms2, 543.0);
}

TEST(LatencyLaw, WaitingTimeOfMG1) {
  // lambda 0.04 / ms, rho 0.4, E[W] = 0.04 * 108 / (2 * 0.6) = 3.6; 3.6 / 0.4 * ln(0.4 / 0.01) =
  // 33.2.
  const ServiceMoments service{.mean_ms = 10.0, .square_ms2 = 108.0};
  EXPECT_NEAR(waiting_ms(service, 40.0, 0.99), 33.200, 0.001);
  EXPECT_EQ(waiting_ms(service, 40.0, 0.5), 0.0);  // 60 % of the requests do not wait
  EXPECT_EQ(waiting_ms(service, 0.0, 0.99), 0.0);
  // A service that does not keep up counts as busy for 98 % of the time.
  EXPECT_NEAR(waiting_ms({.mean_ms = 10.0, .square_ms2 = 100.0}, 200.0, 0.5),
              0.2 * 100.0 / (2.0 * 0.02) / 0.98 * std::log(0.98 / 0.5),
              1e-6);
}

TEST(LatencyLaw, WorkInFrontDelaysEveryRequest) {
  // No request waits at this rate: the tail grows by the work in front, the median by half of it.
  const Latency beside = hindered({.p50_ms = 4.0,
                                   .tail_ms = 6.0,
                                   .quantile = 0.99,
                                   .requests_per_s = 0.5,
                                   .service = {.mean_ms = 4.1, .square_ms2 = 17.0}},
                                  {.front_ms = 1.0});
  EXPECT_DOUBLE_EQ(beside.p50_ms, 4.5);
  EXPECT_DOUBLE_EQ(beside.tail_ms, 7.0);
}

TEST(LatencyLaw, WorkInFrontOfTheFirstRequestMakesNoQueue) {
  // 400 requests a second of 1 ms: a millisecond in front of each of them would make a long queue.
  const SoloLatency solo{.p50_ms = 1.1,
                         .tail_ms = 4.0,
                         .quantile = 0.99,
                         .requests_per_s = 400.0,
                         .service = {.mean_ms = 1.0, .square_ms2 = 1.0}};
  EXPECT_DOUBLE_EQ(hindered(solo, {.first_ms = 1.0}).tail_ms, 5.0);
  EXPECT_DOUBLE_EQ(hindered(solo, {.first_ms = 1.0}).p50_ms, 1.6);
  EXPECT_GT(hindered(solo, {.front_ms = 1.0}).tail_ms, 9.0);
}

TEST(LatencyLaw, ALongerServiceMakesTheQueueLonger) {
  // Constant service of 4 ms, then 8 ms, 50 requests a second. rho 0.2: E[W] = 0.05 * 16 / 1.6 =
  // 0.5, W99 = 0.5 / 0.2 * ln 20 = 7.489, so the tail is 4 + 7.489. rho 0.4: E[W] = 0.05 * 64 / 1.2
  // = 2.6667, W99 = 6.6667 * ln 40 = 24.592, so the tail is 8 + 24.592.
  const SoloLatency solo{.p50_ms = 4.0,
                         .tail_ms = 11.489,
                         .quantile = 0.99,
                         .requests_per_s = 50.0,
                         .service = {.mean_ms = 4.0, .square_ms2 = 16.0}};
  const Latency beside = hindered(solo, {.stretch = 2.0});
  EXPECT_NEAR(beside.tail_ms, 32.592, 0.001);
  EXPECT_DOUBLE_EQ(beside.p50_ms, 8.0);
  EXPECT_DOUBLE_EQ(hindered_service(solo, {.stretch = 2.0}).tail_ms, 22.978);
  EXPECT_DOUBLE_EQ(hindered(solo, {}).tail_ms, 11.489);
}

struct Simulated {
  Latency latency{};
  ServiceMoments service{};
};

// One server, Poisson arrivals, log-normal service times with a median of 3 ms when alone.
Simulated simulated_queue(double sigma, double requests_per_ms, const Hindrance& by) {
  constexpr std::size_t kRequests = 40'000;
  std::mt19937_64 engine(7);
  std::exponential_distribution<double> between(requests_per_ms);
  std::lognormal_distribution<double> alone(std::log(3.0), sigma);
  std::uniform_real_distribution<double> share(0.0, 1.0);
  Simulated made;
  std::vector<double> latencies;
  double arrival = 0.0;
  double free = 0.0;
  for (std::size_t i = 0; i < kRequests; ++i) {
    arrival += between(engine);
    const double service = by.stretch * alone(engine) + by.front_ms * share(engine);
    const double start = free < arrival ? arrival + by.first_ms * share(engine) : free;
    free = start + service;
    latencies.push_back(free - arrival);
    made.service.mean_ms += service / kRequests;
    made.service.square_ms2 += service * service / kRequests;
  }
  std::ranges::sort(latencies);
  made.latency = {.p50_ms = latencies[kRequests / 2], .tail_ms = latencies[kRequests / 100 * 99]};
  return made;
}

TEST(LatencyLaw, TellsTheTailOfASimulatedQueue) {
  for (const double sigma : {0.05, 0.3}) {
    for (const double busy : {0.05, 0.2, 0.4, 0.5}) {
      const double per_ms = busy / (3.0 * std::exp(sigma * sigma / 2.0));
      const Simulated alone = simulated_queue(sigma, per_ms, {});
      for (const Hindrance& by : {Hindrance{.front_ms = 1.0},
                                  Hindrance{.front_ms = 2.0},
                                  Hindrance{.first_ms = 1.0},
                                  Hindrance{.first_ms = 3.0},
                                  Hindrance{.stretch = 1.3},
                                  Hindrance{.stretch = 1.5, .front_ms = 0.5}}) {
        const Latency predicted = hindered({.p50_ms = alone.latency.p50_ms,
                                            .tail_ms = alone.latency.tail_ms,
                                            .quantile = 0.99,
                                            .requests_per_s = 1000.0 * per_ms,
                                            .service = alone.service},
                                           by);
        const Latency seen = simulated_queue(sigma, per_ms, by).latency;
        EXPECT_NEAR(predicted.tail_ms / seen.tail_ms, 1.0, 0.2)
            << sigma << ", busy " << busy << ", " << by.stretch << ", " << by.front_ms << ", "
            << by.first_ms;
        EXPECT_NEAR(predicted.p50_ms / seen.p50_ms, 1.0, 0.2)
            << sigma << ", busy " << busy << ", " << by.stretch << ", " << by.front_ms << ", "
            << by.first_ms;
      }
    }
  }
}

TEST(LatencyLaw, WhatTheGateLetsInFront) {
  EXPECT_DOUBLE_EQ(gate_front_ms(20.0, 0.2), 0.4);  // the idle budget, 2 % of the SLO
  EXPECT_DOUBLE_EQ(gate_front_ms(20.0, 0.9), 0.9);  // one kernel
  EXPECT_DOUBLE_EQ(gate_front_ms(20.0, 9.0), 5.0);  // none longer than a quarter of the SLO
  EXPECT_DOUBLE_EQ(gate_front_ms(20.0, std::nullopt), 1.0);  // as the gate counts unknown ones
  EXPECT_DOUBLE_EQ(gate_front_ms(200.0, 0.1), 1.0);          // the idle budget is 1 ms at most
  EXPECT_DOUBLE_EQ(gate_front_ms(2.0, 0.01), 0.1);           // and 0.1 ms at least
}

TEST(LatencyLaw, WhatLaunchPhasesMayDelay) {
  EXPECT_DOUBLE_EQ(phase_delay_ms(20.0, 8.0), 0.8);   // 4 % of the SLO
  EXPECT_DOUBLE_EQ(phase_delay_ms(2.0, 1.0), 0.1);    // 0.1 ms at least
  EXPECT_DOUBLE_EQ(phase_delay_ms(200.0, 8.0), 2.0);  // 2 ms at most
  EXPECT_DOUBLE_EQ(phase_delay_ms(20.0, 18.1), 0.1);  // the SLO is missed
  EXPECT_DOUBLE_EQ(phase_room_ms(20.0, 8.0), 0.2);    // a tenth of 2 ms
  EXPECT_DOUBLE_EQ(phase_room_ms(20.0, 15.0), 0.0);   // no room
  EXPECT_FALSE(has_launch_phases({.mean_ms = 1.49}));
  EXPECT_TRUE(has_launch_phases({.mean_ms = 1.5}));
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
