// What the simulated GPUs show is enough to learn from.
#include <gtest/gtest.h>

#include "core/workload_identity.hpp"
#include "knowledge/beliefs.hpp"
#include "simulate/simulated_executor.hpp"
#include "simulate/tests/small_cluster.hpp"

namespace carpool::simulate {
namespace {

class SimulatedLearningTest : public testing::Test {
 protected:
  SimulatedLearningTest() {
    trace_.jobs = {test_job(0, 1e6), test_job(0, 1e6, 1, "heavy")};
    trace_.jobs[1].sm_active = 1.0;
    options_.constants = plain_constants();
    options_.constants.counter_sm = 1.0;
  }
  // Runs job 1 alone for a while, then both; teaches as a scheduler does.
  void teach() {
    SimulatedExecutor executor(
        work_of_trace(trace_, test_speeds()),
        test_cluster(1),
        test_speeds(),
        [this] { return now_s_; },
        options_);
    for (JobId job = 1; job <= 2; ++job) {
      ASSERT_TRUE(executor.launch({.run = {.job = job, .attempt = 1}, .gpu_indices = {0}}));
      const double since_s = now_s_;
      while (now_s_ < since_s + 600.0) {
        for (const GpuObservation& seen : executor.take_observations()) {
          tell(seen, since_s);
        }
        now_s_ = executor.next_s().value_or(since_s + 600.0);
      }
    }
  }
  void tell(const GpuObservation& seen, double since_s) {
    GroupSeen group{.at_s = now_s_, .gpu = seen.gpu, .unchanged_s = now_s_ - since_s};
    for (const GpuObservation::JobSeen& job : seen.jobs) {
      group.computing.push_back({.job = job.job,
                                 .workload = name(static_cast<std::size_t>(job.job) - 1),
                                 .computed_s = now_s_,
                                 .rate = job.rate});
    }
    if (seen.latest) {
      group.sm_active = seen.latest->sm_active;
    }
    beliefs_.saw(group);
  }
  [[nodiscard]] std::string name(std::size_t job) const {
    return scoped_workload(1000, trace_.jobs[job].workload);
  }
  [[nodiscard]] std::vector<double> believed() const {
    return beliefs_.progress(
        std::vector<InterferenceMember>{{.workload = name(0)}, {.workload = name(1)}});
  }

  double now_s_ = 0.0;
  Trace trace_{.name = "test"};
  SimulatedExecutor::Options options_{.watch_pressure = false};
  knowledge::Beliefs beliefs_{};
};

TEST_F(SimulatedLearningTest, TeachesActivityAloneAndSlowdownsTogether) {
  teach();
  ASSERT_TRUE(beliefs_.sm_active(name(0)).has_value());
  EXPECT_NEAR(*beliefs_.sm_active(name(0)), 0.5, 0.05);
  EXPECT_NEAR(believed()[0], 1.0 / 1.5, 0.08);  // it had a speed alone before
}

TEST_F(SimulatedLearningTest, WithoutRatesCountersTeachActivityOnly) {
  options_.rates = 0.0;
  teach();
  EXPECT_NEAR(*beliefs_.sm_active(name(0)), 0.5, 0.05);
  ASSERT_TRUE(beliefs_.sm_active(name(1)).has_value());
  EXPECT_GT(*beliefs_.sm_active(name(1)), 0.5);
}

}  // namespace
}  // namespace carpool::simulate
