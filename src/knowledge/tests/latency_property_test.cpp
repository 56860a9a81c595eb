// Of random services: predictions are ordered and bounded, and users do not move each other's.
#include <array>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "knowledge/beliefs.hpp"
#include "knowledge/latency/latency_law.hpp"
#include "knowledge/tests/served_requests.hpp"

namespace carpool::knowledge {
namespace {

double between(std::mt19937_64& engine, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(engine);
}

SoloLatency any_solo(std::mt19937_64& engine) {
  SoloLatency solo{.p50_ms = std::exp(between(engine, -2.0, 5.0)),
                   .quantile = between(engine, 0.6, 0.9999),
                   .requests_per_s = std::exp(between(engine, -3.0, 7.0))};
  solo.tail_ms = solo.p50_ms * std::exp(between(engine, 0.0, 3.0));
  solo.service.mean_ms = solo.p50_ms * between(engine, 0.2, 1.5);
  solo.service.square_ms2 = solo.service.mean_ms * solo.service.mean_ms * between(engine, 1.0, 4.0);
  return solo;
}

TEST(LatencyProperty, MoreHindranceNeverShortensARequest) {
  std::mt19937_64 engine(1);
  for (int round = 0; round < 5000; ++round) {
    const SoloLatency solo = any_solo(engine);
    const Hindrance less{.stretch = between(engine, 1.0, 4.0),
                         .front_ms = between(engine, 0, 5),
                         .first_ms = between(engine, 0, 5)};
    const Hindrance more{.stretch = less.stretch * between(engine, 1.0, 2.0),
                         .front_ms = less.front_ms,
                         .first_ms = less.first_ms};
    const Latency first = hindered(solo, less);
    const Latency second = hindered(solo, more);
    ASSERT_TRUE(std::isfinite(second.tail_ms));
    ASSERT_GE(first.p50_ms, solo.p50_ms);
    ASSERT_GE(first.tail_ms, solo.tail_ms);
    ASSERT_GE(second.p50_ms, first.p50_ms * (1.0 - 1e-9));
    ASSERT_GE(second.tail_ms, first.tail_ms * (1.0 - 1e-9));
    ASSERT_LE(hindered_service(solo, less).tail_ms, first.tail_ms);
  }
}

TEST(LatencyProperty, OldRequestsOnlyFade) {
  std::mt19937_64 engine(2);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t before = engine() % 10'000;
    const std::uint64_t since = engine() % 10'000;
    const double share = old_share(before, since);
    ASSERT_GE(share, 0.0);
    ASSERT_LE(share, 1.0);
    ASSERT_LE(old_share(before, since + 1 + engine() % 1000), share + 1e-12);
  }
}

fake::Service any_service(std::mt19937_64& engine, std::uint32_t uid, double from_s) {
  static constexpr std::array kNames = {"a", "b", "c"};
  fake::Service told{.workload = scoped_workload(uid, "serve"),
                     .p50_ms = between(engine, 1.0, 10.0),
                     .requests_per_s = between(engine, 10.0, 200.0),
                     .from_s = from_s,
                     .for_s = between(engine, 10.0, 120.0),
                     .mps = engine() % 2 == 0,
                     .foreign = engine() % 8 == 0,
                     .gpu = uid == 1000 ? 0U : 1U};
  told.tail_ms = told.p50_ms * between(engine, 1.0, 4.0);
  for (const char* name : kNames) {
    if (engine() % 3 == 0) {
      (engine() % 2 == 0 ? told.beside : told.normal).push_back(scoped_workload(uid, name));
    }
  }
  return told;
}

std::vector<LatencyForecast> all_forecasts(const Beliefs& beliefs, std::uint32_t uid) {
  std::vector<LatencyForecast> made;
  for (unsigned group = 0; group < 16; ++group) {
    LatencyQuestion question{.workload = scoped_workload(uid, "serve"),
                             .goal = {.slo_ms = 20.0},
                             .mps = (group & 8U) != 0};
    for (unsigned bit = 0; bit < 3; ++bit) {
      if ((group >> bit & 1U) != 0) {
        question.beside.push_back(
            {.workload = scoped_workload(uid, std::string(1, "abc"[bit])), .gated = bit != 1});
      }
    }
    made.push_back(beliefs.latency(question).value_or(LatencyForecast{}));
  }
  return made;
}

TEST(LatencyProperty, UsersDoNotMoveEachOthersLatencies) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 engine(seed);
    Beliefs alone({.gate = true});
    Beliefs together({.gate = true});
    double now_s = 0.0;
    std::size_t known = 0;
    for (int round = 0; round < 12; ++round) {
      const bool mine = round % 2 == 0;
      const fake::Service told = any_service(engine, mine ? 1000 : 2000, now_s);
      now_s = fake::serve(together, told);
      if (mine) {
        fake::serve(alone, told);
      }
    }
    // The clock of both stands at the same time.
    for (Beliefs* beliefs : {&alone, &together}) {
      beliefs->saw(
          {.at_s = now_s, .computing = {{.job = 1, .workload = scoped_workload(1000, "z")}}});
    }
    const auto expected = all_forecasts(alone, 1000);
    const auto found = all_forecasts(together, 1000);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_DOUBLE_EQ(found[i].tail_ms, expected[i].tail_ms) << "seed " << seed;
      EXPECT_DOUBLE_EQ(found[i].tail90.high, expected[i].tail90.high);
      if (found[i].tail_ms > 0.0) {
        ++known;
        EXPECT_LE(found[i].tail90.low, found[i].tail_ms);
        EXPECT_GE(found[i].tail90.high, found[i].tail_ms);
        EXPECT_LE(found[i].p50_ms, found[i].tail_ms * (1.0 + 1e-9));
      }
    }
    EXPECT_TRUE(known > 0 || seed > 0);
  }
}

// The gate gives best-effort work more room under a looser SLO, and takes it back as the tail comes
// near. Services of 1.5 to 2 ms that are busy for half of the time gain most queue by that.
TEST(LatencyProperty, ALooserSloIsKeptWhereATighterOneIs) {
  constexpr double kStep = 1.1;
  constexpr double kMostMs = 2000.0;
  std::mt19937_64 engine(3);
  int kept = 0;
  for (int round = 0; round < 1000; ++round) {
    const bool corner = round % 2 == 0;
    const double service_ms = corner ? between(engine, 1.5, 2.0) : between(engine, 0.3, 10.0);
    const double busy = between(engine, corner ? 0.45 : 0.05, 0.5);
    fake::Service told{.workload = scoped_workload(1000, "serve"),
                       .p50_ms = service_ms * between(engine, 1.0, 1.3),
                       .service_ms = service_ms,
                       .service_square_ms2 = service_ms * service_ms * between(engine, 1.0, 2.0),
                       .quantile = corner ? 0.999 : 0.99,
                       .requests_per_s = 1000.0 * busy / service_ms,
                       .mps = false};
    told.tail_ms = told.p50_ms * between(engine, 1.0, 4.0);
    Beliefs beliefs({.gate = true});
    fake::serve(beliefs, told);
    bool tighter = false;
    for (double slo_ms = 2.0; slo_ms < kMostMs; slo_ms *= kStep) {
      const auto beside = beliefs.latency(
          {.workload = told.workload,
           .goal = {.slo_ms = slo_ms, .quantile = told.quantile},
           .beside = {{.workload = scoped_workload(1000, "train"), .gated = true}}});
      const bool keeps = beside && beside->tail90.high <= slo_ms;
      EXPECT_TRUE(keeps || !tighter) << slo_ms << " ms, service of " << service_ms << " ms, busy "
                                     << busy << ", tail " << told.tail_ms << " ms";
      tighter = keeps;
      kept += keeps ? 1 : 0;
    }
  }
  EXPECT_GT(kept, 10'000);
}

}  // namespace
}  // namespace carpool::knowledge
