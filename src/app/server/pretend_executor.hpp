// Jobs on GPUs that are not there: each lasts as long as it says it would alone, slowed down by its
// neighbours as the model says, and nothing is really run. For `carpool serve --simulated`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "core/gpu_observation.hpp"
#include "core/interference_model.hpp"

namespace carpool::app {

// A job that says nothing of itself lasts that long, and takes that much.
inline constexpr double kPretendSeconds = 300.0;
inline constexpr std::uint64_t kPretendBytes = std::uint64_t{4} << 30U;

class PretendExecutor final : public Executor {
 public:
  // The model outlives it; `now_s` is the scheduler's clock.
  PretendExecutor(const InterferenceModel& interference,
                  std::size_t gpus,
                  std::function<double()> now_s)
      : interference_(interference), gpus_(gpus), now_s_(std::move(now_s)) {}

  [[nodiscard]] Result<void> launch(const LaunchSpec& spec) override;
  void stop(RunId run, StopMode mode) override;
  [[nodiscard]] std::vector<RunReport> take_reports() override;
  // Nothing outlives a server that only pretends: what ran begins again.
  [[nodiscard]] Result<FoundRun> find(const LaunchSpec& spec) override;

  // What every GPU would show now.
  [[nodiscard]] std::vector<GpuObservation> observe() const;

 private:
  struct Pretended {
    LaunchSpec spec{};
    double left_s = 0.0;  // of its run time alone
    bool stopped = false;
  };
  void advance();
  [[nodiscard]] double speed_of(const Pretended& job) const;

  const InterferenceModel& interference_;
  std::size_t gpus_;
  std::function<double()> now_s_;
  double advanced_s_ = 0.0;
  std::map<RunId, Pretended> running_;
};

}  // namespace carpool::app
