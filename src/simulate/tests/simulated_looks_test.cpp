#include <cmath>

#include <gtest/gtest.h>

#include "simulate/simulated_executor.hpp"
#include "simulate/tests/small_cluster.hpp"

namespace carpool::simulate {
namespace {

class SimulatedLooksTest : public testing::Test {
 protected:
  SimulatedLooksTest() {
    trace_.jobs = {test_job(0, 1e6), test_job(0, 1e6, 1, "heavy")};
    trace_.jobs[1].sm_active = 1.0;
    options_.constants = plain_constants();
  }
  SimulatedExecutor& executor() {
    now_s_ = 0.0;
    made_ = std::make_unique<SimulatedExecutor>(
        work_of_trace(trace_, test_speeds()),
        test_cluster(1),
        test_speeds(),
        [this] { return now_s_; },
        options_);
    return *made_;
  }
  void launch(JobId job) {
    ASSERT_TRUE(made_->launch({.run = {.job = job, .attempt = 1}, .gpu_indices = {0}}).has_value());
  }
  // Every observation with a sample until then.
  [[nodiscard]] std::vector<std::pair<double, GpuObservation>> looks_until(double until_s) {
    std::vector<std::pair<double, GpuObservation>> looks;
    for (auto next = made_->next_s(); next && *next <= until_s; next = made_->next_s()) {
      now_s_ = std::max(*next, now_s_);
      for (const GpuObservation& seen : made_->take_observations()) {
        if (seen.latest) {
          looks.emplace_back(now_s_, seen);
        }
      }
    }
    return looks;
  }

  double now_s_ = 0.0;
  Trace trace_{.name = "test"};
  SimulatedExecutor::Options options_{.watch_pressure = false};
  std::unique_ptr<SimulatedExecutor> made_;
};

TEST_F(SimulatedLooksTest, AreManyAfterAChangeAndFewLater) {
  executor();
  launch(1);
  const auto looks = looks_until(10'000);
  ASSERT_GT(looks.size(), 8);
  EXPECT_LT(looks.size(), 40);
  EXPECT_LE(looks[0].first, 4.0);
  for (const auto& [at_s, seen] : looks) {
    EXPECT_EQ(at_s, std::floor(at_s));
  }
}

TEST_F(SimulatedLooksTest, ShowActivityAndRatesWithNoiseThatAveragesOut) {
  executor();
  launch(1);
  double activity = 0.0;
  double rate = 0.0;
  double spread = 0.0;
  std::size_t rates = 0;
  const auto looks = looks_until(90'000);
  for (const auto& [at_s, seen] : looks) {
    activity += seen.latest->sm_active;
    spread += std::pow(seen.latest->sm_active / (0.77 * 0.5) - 1.0, 2.0);
    if (seen.jobs.at(0).rate) {
      rate += seen.jobs.at(0).rate->per_s;
      ++rates;
      EXPECT_GE(seen.jobs.at(0).rate->over_s, 2.0);
      EXPECT_EQ(seen.jobs.at(0).rate->source, ProgressSource::Launches);
    }
  }
  const auto count = static_cast<double>(looks.size());
  EXPECT_NEAR(activity / count, 0.77 * 0.5, 0.01);  // as the counters of the published runs
  EXPECT_NEAR(std::sqrt(spread / count), 0.05, 0.015);
  ASSERT_GT(rates, 100);
  const double solo = rate / static_cast<double>(rates);
  launch(2);  // both run at 1 / 1.5
  double beside = 0.0;
  std::size_t seen_beside = 0;
  for (const auto& [at_s, seen] : looks_until(now_s_ + 40'000)) {
    if (seen.jobs.at(0).rate) {
      beside += seen.jobs.at(0).rate->per_s;
      ++seen_beside;
    }
  }
  EXPECT_NEAR(beside / static_cast<double>(seen_beside) / solo, 1.0 / 1.5, 0.02);
}

TEST_F(SimulatedLooksTest, RatesAreMeasuredOfTheShareOfJobsThatWasAskedFor) {
  for (const double share : {0.0, 0.5, 1.0}) {
    options_.rates = share;
    trace_.jobs.assign(200, test_job(0, 1e5, 0, "light"));
    for (TraceJob& job : trace_.jobs) {
      job.peak_bytes = job.early_bytes = kMebibyte;
    }
    executor();
    for (JobId job = 1; job <= 200; ++job) {
      launch(job);
    }
    std::size_t with_rate = 0;
    for (const auto& [at_s, seen] : looks_until(30)) {
      std::size_t rates = 0;
      for (const auto& job : seen.jobs) {
        rates += job.rate ? 1 : 0;
      }
      with_rate = std::max(with_rate, rates);
    }
    EXPECT_NEAR(static_cast<double>(with_rate), 200.0 * share, 20.0);
  }
}

TEST_F(SimulatedLooksTest, EqualSeedsShowTheSame) {
  const auto shown = [&](std::uint64_t seed) {
    options_.seed = seed;
    executor();
    launch(1);
    std::vector<double> values;
    for (const auto& [at_s, seen] : looks_until(5'000)) {
      values.push_back(seen.latest->sm_active);
      values.push_back(seen.jobs.at(0).rate ? seen.jobs.at(0).rate->per_s : 0.0);
    }
    return values;
  };
  EXPECT_EQ(shown(1), shown(1));
  EXPECT_NE(shown(1), shown(2));
}

}  // namespace
}  // namespace carpool::simulate
