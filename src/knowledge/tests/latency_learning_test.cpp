#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "knowledge/beliefs.hpp"
#include "knowledge/latency/latency_forecast.hpp"
#include "knowledge/latency/latency_law.hpp"
#include "knowledge/tests/served_requests.hpp"
#include "knowledge/tests/watched_group.hpp"

namespace carpool::knowledge {
namespace {

using fake::mine;
using fake::serve;
using fake::Service;
using LatencyBasis = LatencyForecast::Basis;

BeliefSettings gated() {
  return {.gate = true};
}

LatencyQuestion asked(std::vector<LatencyNeighbour> beside, bool mps = true) {
  return {
      .workload = mine("bert"), .goal = {.slo_ms = 20.0}, .mps = mps, .beside = std::move(beside)};
}

Service bert() {
  return {.workload = mine("bert")};
}

TEST(LatencyLearning, NothingIsKnownBeforeTheJobRanAlone) {
  Beliefs beliefs(gated());
  EXPECT_FALSE(beliefs.latency(asked({})));
  Service beside = bert();
  beside.beside = {mine("train")};
  serve(beliefs, beside);
  EXPECT_FALSE(beliefs.latency(asked({})));
  EXPECT_FALSE(beliefs.latency(asked({{.workload = mine("other"), .gated = true}})));
}

TEST(LatencyLearning, TheLatencyAloneIsLearned) {
  Beliefs beliefs(gated());
  serve(beliefs, bert());
  const auto alone = beliefs.latency(asked({}));
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->basis, LatencyBasis::Measured);
  EXPECT_NEAR(alone->p50_ms, 5.0, 1e-9);
  EXPECT_NEAR(alone->tail_ms, 10.0, 1e-9);
  EXPECT_LT(alone->tail90.low, 9.9);
  EXPECT_GT(alone->tail90.high, 10.1);
  EXPECT_LT(alone->tail90.high, 11.5);
  EXPECT_GT(alone->requests, 2000U);
}

// SLO 20 ms, kernels never recorded: 1 ms in front. 50 requests a second.
TEST(LatencyLearning, BesideAGatedJobTheWorkInFlightIsAdded) {
  Beliefs beliefs(gated());
  serve(beliefs, bert());
  const auto beside = beliefs.latency(asked({{.workload = mine("never seen"), .gated = true}}));
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->basis, LatencyBasis::Gate);
  const Latency expected = hindered({.p50_ms = 5.0,
                                     .tail_ms = 10.0,
                                     .quantile = 0.99,
                                     .requests_per_s = 50.0,
                                     .service = {.mean_ms = 4.0, .square_ms2 = 17.0}},
                                    {.first_ms = 1.0});
  EXPECT_NEAR(beside->tail_ms, expected.tail_ms, 1e-6);
  EXPECT_NEAR(beside->p50_ms, expected.p50_ms, 1e-6);
  EXPECT_LT(beside->tail90.low, 10.0);  // the work in front may be nothing
  EXPECT_GT(beside->tail90.high, beside->tail_ms);
}

// A loose SLO lets more work into launch phases, by the measured tail: no queue comes from it.
TEST(LatencyLearning, ALooseSloIsKeptBesideAGatedJobInTime) {
  struct Row {
    double requests_per_s = 0.0;
    double service_ms = 0.0;
    double tail_ms = 0.0;
    std::vector<double> slos_ms{};
  };
  for (const Row& row : {Row{400.0, 1.0, 4.0, {8.0, 20.0, 40.0, 80.0}},
                         Row{100.0, 3.0, 6.0, {120.0, 300.0}},
                         Row{60.0, 4.0, 8.0, {800.0}}}) {
    Beliefs beliefs(gated());
    Service told = bert();
    told.requests_per_s = row.requests_per_s;
    told.service_ms = told.p50_ms = row.service_ms;
    told.service_square_ms2 = row.service_ms * row.service_ms;
    told.tail_ms = row.tail_ms;
    serve(beliefs, told);
    for (const double slo_ms : row.slos_ms) {
      LatencyQuestion question = asked({{.workload = mine("train"), .gated = true}}, false);
      question.goal.slo_ms = slo_ms;
      const auto beside = beliefs.latency(question);
      ASSERT_TRUE(beside);
      EXPECT_LT(beside->tail90.high, slo_ms) << row.requests_per_s << " a second";
    }
  }
}

// SLO 20 ms, 50 requests a second of 4 ms: work in launch phases makes each request longer by
// 0.8 ms at most. Under MPS none goes on there.
TEST(LatencyLearning, WorkInLaunchPhasesRaisesTheUpperEndOnly) {
  Beliefs beliefs(gated());
  serve(beliefs, bert());
  const LatencyNeighbour train{.workload = mine("train"), .gated = true};
  const auto upper = [&](double slo_ms, bool mps) {
    LatencyQuestion question = asked({train}, mps);
    question.goal.slo_ms = slo_ms;
    return *beliefs.latency(question);
  };
  const SoloLatency solo{.p50_ms = 5.0,
                         .tail_ms = 10.0,
                         .quantile = 0.99,
                         .requests_per_s = 50.0,
                         .service = {.mean_ms = 4.0, .square_ms2 = 17.0}};
  const auto wide = [&](double slo_ms, const Hindrance& by) {
    return upper(slo_ms, false).tail90.high / hindered(solo, by).tail_ms;
  };
  const double usual = wide(24.0, {.front_ms = 0.96, .first_ms = 1.2});
  EXPECT_GT(usual, 1.05);
  EXPECT_LT(usual, 1.25);
  // The room that a looser SLO gives, 3 ms, is in no queue.
  EXPECT_NEAR(wide(80.0, {.front_ms = 2.0, .first_ms = 4.0}), usual, 1e-6);
  EXPECT_DOUBLE_EQ(upper(80.0, false).tail_ms, upper(80.0, true).tail_ms);
  // Phases are closed before they cost the SLO.
  EXPECT_DOUBLE_EQ(upper(14.5, false).tail90.high, 0.9 * 14.5);
}

TEST(LatencyLearning, RecordedKernelsTellTheWorkInFront) {
  Beliefs beliefs(gated());
  double now_s = serve(beliefs, bert());
  GroupSeen seen{.at_s = now_s + 10.0, .unchanged_s = 10.0};
  seen.computing.push_back({.job = 1,
                            .workload = mine("train"),
                            .computed_s = 10.0,
                            .window = KernelWindow{.over_s = 3.0,
                                                   .kernels = 1000,
                                                   .busy = 0.8,
                                                   .active = 0.5,
                                                   .mean_us = 900.0,
                                                   .p90_us = 3000.0,
                                                   .launches_per_s = 500.0}});
  beliefs.saw(seen);
  const auto beside = beliefs.latency(asked({{.workload = mine("train"), .gated = true}}));
  ASSERT_TRUE(beside);
  EXPECT_GT(beside->tail_ms, 13.0);
  EXPECT_LT(beside->tail_ms, 40.0);
}

TEST(LatencyLearning, BesideANormalJobTheServiceIsStretched) {
  Beliefs beliefs(gated());
  serve(beliefs, bert());
  const LatencyQuestion question = asked({{.workload = mine("train")}});
  EXPECT_FALSE(beliefs.latency(question)) << "nothing is known of the neighbour";
  fake::watch(beliefs,
              {.workloads = {mine("train")}, .from_s = 100.0, .sm_active = [] { return 0.9; }});
  const auto beside = beliefs.latency(question);
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->basis, LatencyBasis::Interference);
  const std::vector<InterferenceMember> group = {{.workload = mine("bert")},
                                                 {.workload = mine("train")}};
  EXPECT_GT(beside->tail_ms, 10.0 / beliefs.progress(group).front() - 1e-9);
  EXPECT_GT(beside->tail90.high, beside->tail_ms);
  EXPECT_LT(beside->tail90.low, beside->tail_ms);
}

TEST(LatencyLearning, WithoutMpsAndGateSlicesAreAdded) {
  Beliefs beliefs;  // no gate: best-effort jobs do not wait
  serve(beliefs, bert());
  for (const bool gated : {false, true}) {
    const auto beside = beliefs.latency(asked({{.workload = mine("x"), .gated = gated}}, false));
    ASSERT_TRUE(beside);
    EXPECT_EQ(beside->basis, LatencyBasis::Slices);
    EXPECT_GE(beside->tail_ms, 22.0);  // twice as long, and a slice of 2 ms
  }
}

TEST(LatencyLearning, AGroupThatWasMeasuredIsPredictedByThat) {
  Beliefs beliefs(gated());
  Service told = bert();
  told.from_s = serve(beliefs, told);
  told.before = 3000;
  told.beside = {mine("train")};
  told.p50_ms = 5.5;
  told.tail_ms = 12.0;
  serve(beliefs, told);
  const LatencyNeighbour train{.workload = mine("train"), .gated = true};
  const auto beside = beliefs.latency(asked({train}));
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->basis, LatencyBasis::Measured);
  EXPECT_NEAR(beside->tail_ms, 12.0, 1e-9);
  EXPECT_NEAR(beside->solo_p50_ms, 5.0, 1e-9);
  // Without MPS, with another class, with two of them, or with another quantile it is another
  // group.
  EXPECT_EQ(beliefs.latency(asked({train}, false))->basis, LatencyBasis::Gate);
  EXPECT_EQ(beliefs.latency(asked({train, train}))->basis, LatencyBasis::Gate);
  const auto normal = beliefs.latency(asked({{.workload = mine("train")}}));
  EXPECT_TRUE(!normal || normal->basis == LatencyBasis::Interference);
  LatencyQuestion other = asked({train});
  other.goal.quantile = 0.9;
  EXPECT_FALSE(beliefs.latency(other));
}

// What the gate lets in front of a request follows from the SLO; alone there is no gate.
TEST(LatencyLearning, AGroupMeasuredUnderAQuiteDifferentSloIsPredictedAnew) {
  Beliefs beliefs(gated());
  Service told = bert();
  told.slo_ms = 100.0;
  told.from_s = serve(beliefs, told);
  told.before = 3000;
  told.beside = {mine("train")};
  told.tail_ms = 45.0;
  serve(beliefs, told);
  LatencyQuestion question = asked({{.workload = mine("train"), .gated = true}});
  const auto basis = [&](double slo_ms) {
    question.goal.slo_ms = slo_ms;
    return beliefs.latency(question)->basis;
  };
  EXPECT_EQ(basis(100.0), LatencyBasis::Measured);
  EXPECT_EQ(basis(85.0), LatencyBasis::Measured);
  EXPECT_EQ(basis(40.0), LatencyBasis::Gate);
  EXPECT_EQ(beliefs.latency(asked({}))->basis, LatencyBasis::Measured);
}

TEST(LatencyLearning, WhatIsMeasuredWithOneGoalDoesNotReplaceThatWithAnother) {
  Beliefs beliefs(gated());
  Service told = bert();
  const auto run = [&](double slo_ms, double quantile, double tail_ms) {
    told.slo_ms = slo_ms;
    told.quantile = quantile;
    told.tail_ms = tail_ms;
    told.from_s = serve(beliefs, told);
    told.before += 3000;
  };
  run(20.0, 0.99, 10.0);
  run(20.0, 0.9, 8.0);
  told.beside = {mine("train")};
  run(20.0, 0.99, 25.0);
  run(60.0, 0.99, 40.0);
  run(20.0, 0.9, 12.0);
  const auto alone = beliefs.latency(asked({}));
  ASSERT_TRUE(alone);
  EXPECT_NEAR(alone->tail_ms, 10.0, 1e-9);
  LatencyQuestion question = asked({{.workload = mine("train"), .gated = true}});
  const auto tail_ms = [&](double slo_ms, double quantile) {
    question.goal = {.slo_ms = slo_ms, .quantile = quantile};
    return beliefs.latency(question)->tail_ms;
  };
  EXPECT_NEAR(tail_ms(20.0, 0.99), 25.0, 1e-9);
  EXPECT_NEAR(tail_ms(20.0, 0.9), 12.0, 1e-9);
  EXPECT_NEAR(tail_ms(60.0, 0.99), 40.0, 1e-9);
  run(24.0, 0.99, 25.0);  // one more measurement with the first goal, and the SLO nearest to 27 ms
  run(30.5, 0.99, 30.0);
  EXPECT_NEAR(tail_ms(24.0, 0.99), 25.0, 1e-9);
  EXPECT_NEAR(tail_ms(27.0, 0.99), 25.0, 1e-9);
  EXPECT_NEAR(tail_ms(28.0, 0.99), 30.0, 1e-9);
  EXPECT_EQ(beliefs.rows().front().served.size(), 6U);
}

TEST(LatencyLearning, AGroupThatBrokeItsSloIsTriedAgainAfterAWhile) {
  Beliefs beliefs(gated());
  Service told = bert();
  told.from_s = serve(beliefs, told);
  told.before = 3000;
  told.beside = {mine("train")};
  told.tail_ms = 30.0;
  const double broken_s = serve(beliefs, told);
  const LatencyQuestion question = asked({{.workload = mine("train"), .gated = true}});
  const auto basis_after = [&](double hours) {
    beliefs.saw(
        {.at_s = broken_s + 3600.0 * hours, .computing = {{.job = 1, .workload = mine("x")}}});
    return beliefs.latency(question)->basis;
  };
  EXPECT_EQ(basis_after(0.1), LatencyBasis::Measured);
  // 500 requests of a try are two thousandths of those in 5,000 s.
  EXPECT_EQ(basis_after(1.3), LatencyBasis::Measured);
  EXPECT_EQ(basis_after(1.4), LatencyBasis::Gate);
  LatencyQuestion tight = question;
  tight.goal.slo_ms = 17.0;
  EXPECT_EQ(beliefs.latency(tight)->basis, LatencyBasis::Gate);
  // Where the latency alone does not promise that it would be kept, there is no other try.
  told.from_s = broken_s + 10'000.0;
  told.before = 6000;
  told.beside.clear();
  told.tail_ms = 19.8;
  for (int run = 0; run < 5; ++run) {
    told.from_s = serve(beliefs, told);
    told.before += 3000;
  }
  EXPECT_EQ(beliefs.latency(question)->basis, LatencyBasis::Measured);
}

// The median and the tail are learned one by one, and the tail more slowly.
TEST(LatencyLearning, WhatIsLearnedOfASteadyServiceThatSlowsDownCanBeRead) {
  std::string folder = (std::filesystem::temp_directory_path() / "carpool-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::filesystem::path file = std::filesystem::path(folder) / "knowledge.json";
  Beliefs beliefs(gated());
  Service told = bert();
  for (const double latency_ms : {5.0, 5.31, 7.0, 14.0, 90.0}) {
    told.p50_ms = told.tail_ms = latency_ms;
    told.from_s = serve(beliefs, told) + 100.0;
    told.before += 3000;
    ASSERT_TRUE(beliefs.save(file));
    const auto opened = Beliefs::open(file, gated());
    ASSERT_TRUE(opened) << latency_ms << " ms: " << opened.error().message;
    const auto alone = (*opened)->latency(asked({}));
    ASSERT_TRUE(alone);
    EXPECT_GE(alone->tail_ms, alone->p50_ms);
  }
  std::filesystem::remove_all(folder);
}

// A group whose tail grew: the tail of before is mixed into it for a while.
TEST(LatencyLearning, ATailThatGrowsIsRememberedOnceFewOldRequestsAreLeft) {
  const auto basis_after = [](double seconds, double tail_ms) {
    Beliefs beliefs(gated());
    Service told = bert();
    told.from_s = serve(beliefs, told);
    told.before = 3000;
    told.beside = {mine("train")};
    told.tail_ms = tail_ms;
    told.for_s = seconds;
    serve(beliefs, told);
    EXPECT_DOUBLE_EQ(beliefs.watched_latency(fake::kServing)->tail_ms, tail_ms) << "it is shown";
    return beliefs.latency(asked({{.workload = mine("train"), .gated = true}}))->basis;
  };
  // Of 1,000 requests half are old; above the SLO of 20 ms the tail counts at once.
  EXPECT_EQ(basis_after(20.0, 12.0), LatencyBasis::Gate);
  EXPECT_EQ(basis_after(20.0, 30.0), LatencyBasis::Measured);
  EXPECT_EQ(basis_after(60.0, 12.0), LatencyBasis::Measured);
}

// The figures of a process fade: a tail that fell counts when hardly any old request is in them.
TEST(LatencyLearning, OldRequestsDoNotCountAsThoseOfTheGroup) {
  Beliefs beliefs(gated());
  Service told = bert();
  told.beside = {mine("train")};
  told.tail_ms = 18.0;
  told.from_s = serve(beliefs, told);
  told.before = 3000;
  told.beside.clear();
  told.for_s = 40.0;  // 2,000 requests alone: the tail is still that of before
  told.from_s = serve(beliefs, told);
  EXPECT_FALSE(beliefs.latency(asked({})));
  told.from_s -= told.for_s + 1.0;  // the same group goes on
  told.for_s = 200.0;
  told.tail_ms = 10.0;
  serve(beliefs, told);
  ASSERT_TRUE(beliefs.latency(asked({})));
  EXPECT_NEAR(beliefs.latency(asked({}))->tail_ms, 10.0, 1e-9);
}

TEST(LatencyLearning, FewRequestsTellNoTail) {
  Beliefs beliefs(gated());
  Service told = bert();
  told.requests_per_s = 1.0;  // 55 since the job was warm, p99 needs 100
  serve(beliefs, told);
  EXPECT_FALSE(beliefs.latency(asked({})));
}

TEST(LatencyLearning, OthersTeachNothing) {
  Beliefs beliefs(gated());
  Service told = bert();
  told.foreign = true;
  told.from_s = serve(beliefs, told);
  told.foreign = false;
  told.beside = {scoped_workload(2000, "train")};
  told.from_s = serve(beliefs, told);
  told.beside.clear();
  told.workload = scoped_workload(2000, "bert");
  serve(beliefs, told);
  EXPECT_FALSE(beliefs.latency(asked({})));
}

TEST(LatencyLearning, APolicyThatNeedsMpsIsNoGateUnderMps) {
  Service told = bert();
  told.beside = {mine("train")};
  GroupSeen seen = fake::group_of(told);
  for (const ShareMechanism mechanism : {ShareMechanism::Mps, ShareMechanism::TimeSlicing}) {
    seen.computing[0].mechanism = mechanism;
    seen.computing[1].gating = Gating::OutsideOfMps;
    EXPECT_EQ(latency_question(seen, 0).beside.front().gated, mechanism != ShareMechanism::Mps);
    seen.computing[1].gating = Gating::All;
    EXPECT_TRUE(latency_question(seen, 0).beside.front().gated);
  }
}

TEST(LatencyLearning, EachPredictionIsComparedOnce) {
  Beliefs beliefs(gated());
  Service told = bert();
  told.from_s = serve(beliefs, told);
  EXPECT_EQ(beliefs.latency_coverage(), (Coverage{.inside = 0, .all = 0}));
  told.before = 3000;
  told.beside = {mine("train")};
  told.tail_ms = 11.0;
  told.from_s = serve(beliefs, told);
  EXPECT_EQ(beliefs.latency_coverage(), (Coverage{.inside = 1, .all = 1}));
  told.before = 6000;
  told.beside = {mine("other")};
  told.tail_ms = 90.0;
  serve(beliefs, told);
  EXPECT_EQ(beliefs.latency_coverage(), (Coverage{.inside = 1, .all = 2}));
}

TEST(LatencyLearning, WhatIsMeasuredIsToldBesideWhatWasPredicted) {
  Beliefs beliefs(gated());
  Service told = bert();
  told.from_s = serve(beliefs, told);
  told.before = 3000;
  told.beside = {mine("train")};
  told.tail_ms = 12.0;
  serve(beliefs, told);
  const auto watched = beliefs.watched_latency(fake::kServing);
  ASSERT_TRUE(watched && watched->predicted);
  EXPECT_EQ(watched->predicted->basis, LatencyBasis::Gate);
  EXPECT_EQ(watched->beside, std::vector<std::string>{mine("train")});
  EXPECT_DOUBLE_EQ(watched->tail_ms, 12.0);
  EXPECT_EQ(watched->requests, 2800U);  // after four seconds
  const JobId trainer = fake::group_of(told).computing.back().job;
  EXPECT_FALSE(beliefs.watched_latency(trainer)) << "it serves no requests";
}

TEST(LatencyLearning, ItIsKeptAndForgottenSlowly) {
  std::string folder = (std::filesystem::temp_directory_path() / "carpool-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::filesystem::path file = std::filesystem::path(folder) / "knowledge.json";
  Beliefs beliefs(gated());
  Service told = bert();
  told.from_s = serve(beliefs, told);
  told.before = 3000;
  told.beside = {mine("train")};
  told.tail_ms = 12.0;
  told.from_s = serve(beliefs, told);
  told.before = 6000;
  told.slo_ms = 60.0;
  told.tail_ms = 40.0;
  serve(beliefs, told);
  ASSERT_TRUE(beliefs.save(file));
  const LatencyQuestion question = asked({{.workload = mine("train"), .gated = true}});
  {
    const auto opened = Beliefs::open(file, gated());
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ((*opened)->latency_coverage(), beliefs.latency_coverage());
    const auto kept = (*opened)->latency(question);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->basis, LatencyBasis::Measured);
    EXPECT_DOUBLE_EQ(kept->tail_ms, beliefs.latency(question)->tail_ms);
    EXPECT_DOUBLE_EQ(kept->tail90.high, beliefs.latency(question)->tail90.high);
    LatencyQuestion loose = question;
    loose.goal.slo_ms = 60.0;
    EXPECT_NEAR((*opened)->latency(loose)->tail_ms, 40.0, 1e-9);
    // Half counts after 30 days; after three years nothing is left.
    constexpr double kDay = 86'400.0;
    const auto later = [&](double at_s) {
      (*opened)->saw({.at_s = at_s, .computing = {{.job = 1, .workload = mine("x")}}});
    };
    later(30.0 * kDay);
    EXPECT_GT((*opened)->latency(question)->tail90.high, kept->tail90.high);
    later(1000.0 * kDay);
    EXPECT_FALSE((*opened)->latency(question));
  }
  std::filesystem::remove_all(folder);
}

TEST(LatencyLearning, TheRateOfRequestsIsNoSpeed) {
  Beliefs beliefs(gated());
  GroupSeen seen = fake::group_of(bert());
  for (double second = 1.0; second < 60.0; second += 1.0) {
    seen.at_s = seen.unchanged_s = second;
    GroupSeen::Member& member = seen.computing.front();
    member.computed_s = second;
    member.rate = MeasuredRate{.per_s = 500.0, .over_s = 2.0, .source = ProgressSource::Launches};
    member.latency = MeasuredLatency{.requests = 100, .fewest = 100, .p50_ms = 5.0, .tail_ms = 9.0};
    beliefs.saw(seen);
  }
  EXPECT_FALSE(beliefs.belief(mine("bert"))->solo_rate);
}

}  // namespace
}  // namespace carpool::knowledge
