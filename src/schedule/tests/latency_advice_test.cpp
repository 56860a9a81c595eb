#include "schedule/advice/latency_advice.hpp"

#include <gtest/gtest.h>

#include "core/latency_words.hpp"
#include "core/workload_identity.hpp"

namespace carpool::schedule {
namespace {

LatencyForecast known_forecast(LatencyForecast::Basis basis) {
  return {.p50_ms = 5.0,
          .tail_ms = 13.0,
          .tail90 = {.low = 11.0, .high = 16.0},
          .basis = basis,
          .requests = 3000};
}

// Knows the latency of "serve", alone and outside of MPS beside one best-effort job.
class KnownLatency final : public InterferenceModel {
 public:
  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override {
    return std::vector<double>(group.size(), 1.0);
  }
  [[nodiscard]] std::optional<double> sm_active(const std::string& /*workload*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] bool knows(const std::string& /*workload*/) const override { return true; }
  [[nodiscard]] std::optional<LatencyForecast> latency(
      const LatencyQuestion& question) const override {
    if (question.workload != scoped_workload(1, "serve")) {
      return std::nullopt;
    }
    if (question.beside.empty()) {
      return known_forecast(LatencyForecast::Basis::Measured);
    }
    const bool known = !question.mps && question.beside.size() == 1 &&
                       question.beside.front().gated &&
                       question.beside.front().workload == scoped_workload(1, "train");
    return known ? std::optional(known_forecast(LatencyForecast::Basis::Gate)) : std::nullopt;
  }
};

QueuedJob serving() {
  return {.job = 3,
          .uid = 1,
          .workload = scoped_workload(1, "serve"),
          .job_class = JobClass::Slo,
          .goal = {.slo_ms = 20.0}};
}

GpuView training(JobClass job_class, ResidentPhase phase = ResidentPhase::Computing) {
  GpuView gpu{.mps_possible = true, .slo_outside_mps = true};
  gpu.residents.push_back({.job = 2,
                           .uid = 1,
                           .workload = scoped_workload(1, "train"),
                           .job_class = job_class,
                           .gating = job_class == JobClass::BestEffort ? Gating::All : Gating::None,
                           .mechanism = ShareMechanism::Mps,
                           .phase = phase});
  return gpu;
}

TEST(LatencyAdvice, SaysWhatWasPredictedAndWhatWasMeasured) {
  const KnownLatency model;
  EXPECT_EQ(promise_words(model, serving(), std::nullopt),
            "SLO 20 ms; alone p99 13 ms (11 to 16 ms), measured over 3000 requests");
  WatchedLatency watched{.predicted = known_forecast(LatencyForecast::Basis::Gate),
                         .beside = {scoped_workload(1, "train.py")}};
  const std::string predicted =
      "SLO 20 ms; predicted p99 13 ms (11 to 16 ms) beside train.py, from 3000 requests alone and "
      "what the gate lets in front of a request";
  EXPECT_EQ(promise_words(model, serving(), watched), predicted);
  watched.requests = 40;
  EXPECT_EQ(promise_words(model, serving(), watched),
            predicted + "; 40 requests so far, too few to know the p99 of this group");
  watched.requests = 812;
  watched.tail_ms = 12.4;
  EXPECT_EQ(promise_words(model, serving(), watched),
            predicted + "; measured 12.4 ms over 812 requests");
  watched.predicted.reset();
  watched.beside.clear();
  EXPECT_EQ(promise_words(model, serving(), watched),
            "SLO 20 ms; not predicted alone: too little was known; measured 12.4 ms over 812 "
            "requests");
  QueuedJob strange = serving();
  strange.workload = scoped_workload(1, "other");
  strange.goal.quantile = 0.999;
  EXPECT_EQ(promise_words(model, strange, std::nullopt),
            "SLO 20 ms; its latency alone was not measured yet");
}

TEST(LatencyAdvice, TellsTheLatencyOfEachPlace) {
  const KnownLatency model;
  const auto beside = latencies_with(model, training(JobClass::BestEffort), serving());
  ASSERT_EQ(beside.size(), 1U);
  EXPECT_EQ(beside[0].job, 3);
  EXPECT_EQ(beside[0].forecast.basis, LatencyForecast::Basis::Gate);
  EXPECT_TRUE(latencies_with(model, training(JobClass::Normal), serving()).empty());
  // Who stands still is not beside it.
  const auto alone =
      latencies_with(model, training(JobClass::Normal, ResidentPhase::Paused), serving());
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0].forecast.basis, LatencyForecast::Basis::Measured);
  GpuView under_mps = training(JobClass::BestEffort);
  under_mps.slo_outside_mps = false;
  EXPECT_TRUE(latencies_with(model, under_mps, serving()).empty());
  // A policy that needs MPS is replaced beside a service outside of it.
  GpuView of_orion = training(JobClass::BestEffort);
  of_orion.residents.front().gating = Gating::OutsideOfMps;
  EXPECT_EQ(latencies_with(model, of_orion, serving()).size(), 1U);
  GpuView foreign = training(JobClass::BestEffort);
  foreign.foreign = true;
  EXPECT_TRUE(latencies_with(model, foreign, serving()).empty());
}

TEST(LatencyAdvice, TellsNothingOfOtherUsersJobs) {
  GpuView gpu{.mps_possible = true};
  gpu.residents.push_back({.job = 3,
                           .uid = 1,
                           .workload = scoped_workload(1, "serve"),
                           .job_class = JobClass::Slo,
                           .goal = {.slo_ms = 20.0},
                           .mechanism = ShareMechanism::TimeSlicing});
  QueuedJob job{.job = 4,
                .uid = 1,
                .workload = scoped_workload(1, "train"),
                .job_class = JobClass::BestEffort,
                .gating = Gating::All};
  EXPECT_EQ(latencies_with(KnownLatency(), gpu, job).size(), 1U);
  job.uid = 2;
  EXPECT_TRUE(latencies_with(KnownLatency(), gpu, job).empty());
}

TEST(LatencyWords, ShowThreeDigits) {
  EXPECT_EQ(ms_words(0.1234), "0.123 ms");
  EXPECT_EQ(ms_words(12.44), "12.4 ms");
  EXPECT_EQ(ms_words(4321.6), "4322 ms");
  EXPECT_EQ(quantile_name(0.999), "p99.9");
  EXPECT_EQ(quantile_name(0.5), "p50");
}

}  // namespace
}  // namespace carpool::schedule
