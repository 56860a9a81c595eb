#include "core/tests/executor_contract.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "simulate/server_executor.hpp"
#include "simulate/tests/small_cluster.hpp"

namespace carpool::simulate {
namespace {

constexpr double kShortSeconds = 10.0;
constexpr double kLastingSeconds = 1e6;

// The clock stands still until the suite waits.
class SimulatedBench {
 public:
  static constexpr bool kOutlivesServer = false;

  [[nodiscard]] SimulatedExecutor& executor() { return *executor_; }

  [[nodiscard]] LaunchSpec short_job(RunId run) const { return spec(run, kShortSeconds); }
  [[nodiscard]] LaunchSpec lasting_job(RunId run) const { return spec(run, kLastingSeconds); }
  void refuse_launches() { gpu_ = 7; }  // which the cluster does not have

  [[nodiscard]] bool wait() {
    const std::optional<double> next = executor_->next_s();
    now_s_ = next.value_or(now_s_);
    return next.has_value();
  }
  // A job that has begun holds memory.
  void await_begin(RunId run) {
    const auto holds_memory = [&] {
      const auto jobs = executor_->observe_all().front().jobs;
      return std::ranges::find(jobs, run.job, &GpuObservation::JobSeen::job) != jobs.end();
    };
    while (!holds_memory()) {
      ASSERT_TRUE(wait()) << "job " << run.job << " never begins";
    }
  }
  void await_end(RunId /*run*/) { now_s_ += kShortSeconds * 100.0; }

 protected:
  void open(std::unique_ptr<SimulatedExecutor> executor) {
    executor_ = std::move(executor);
    gpu_ = 0;
  }
  [[nodiscard]] SimulatedExecutor::Clock clock() {
    return [this] { return now_s_; };
  }

 private:
  [[nodiscard]] LaunchSpec spec(RunId run, double solo_s) const {
    LaunchSpec launch{.run = run, .gpu_indices = {gpu_}};
    launch.job.argv = {"train"};
    launch.job.runtime_s = solo_s;
    return launch;
  }

  std::unique_ptr<SimulatedExecutor> executor_;
  double now_s_ = 1.0e9;  // as a server's clock
  unsigned gpu_ = 0;
};

class ServerBench : public SimulatedBench {
 public:
  ServerBench() { restart(); }
  void restart() { open(make_server_executor(test_cluster(1), test_speeds(), clock())); }
};

// As `carpool simulate`, with start-up and growing memory. Run times come from the job here too.
class TraceBench : public SimulatedBench {
 public:
  TraceBench() { restart(); }
  void restart() {
    open(std::make_unique<SimulatedExecutor>(work_of_specs(test_speeds()),
                                             test_cluster(1),
                                             test_speeds(),
                                             clock(),
                                             SimulatedExecutor::Options{}));
  }
};

using Benches = testing::Types<ServerBench, TraceBench>;
INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, ExecutorContract, Benches);

}  // namespace
}  // namespace carpool::simulate
