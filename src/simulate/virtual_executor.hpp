// Runs jobs on GPUs that exist only here: they start up, grow, slow each other down, run out of
// memory and end, at the times of a virtual clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/executor.hpp"
#include "core/gpu_observation.hpp"
#include "core/interference_model.hpp"
#include "simulate/cluster_spec.hpp"
#include "simulate/pressure_window.hpp"
#include "simulate/simulation_constants.hpp"
#include "simulate/trace.hpp"

namespace carpool::simulate {

// One attempt, as it was.
struct VirtualRun {
  std::size_t job = 0;  // of the trace
  unsigned attempt = 0;
  std::vector<unsigned> gpus{};
  double started_s = 0.0;
  double ended_s = -1.0;  // below 0: not yet
  RunEnd end = RunEnd::Succeeded;
};

// What all GPUs did, at moments when something changed.
struct ClusterMoment {
  double at_s = 0.0;
  unsigned gpu = 0;
  double sm_active = 0.0;
  std::uint64_t memory_bytes = 0;
};

// Job ids are those of a scheduler that was given the trace's jobs in order: the first is 1.
class VirtualExecutor final : public Executor {
 public:
  struct Options {
    SimulationConstants constants{};
    std::uint64_t seed = 0;
    bool watch_pressure = true;   // else the counters are never shown
    bool keep_moments = false;    // for charts
    double look_again_s = 305.0;  // after it stopped growing, a job's memory is shown once more
  };

  // All of them outlive it.
  VirtualExecutor(const Trace& trace,
                  const ClusterSpec& cluster,
                  const InterferenceModel& interference,
                  const Options& options);
  ~VirtualExecutor() override;

  [[nodiscard]] Result<void> launch(const LaunchSpec& spec) override;
  void stop(RunId run, StopMode mode) override;
  [[nodiscard]] std::vector<RunReport> take_reports() override;
  [[nodiscard]] Result<FoundRun> find(const LaunchSpec& spec) override;

  // The clock: everything that happens up to then has happened.
  void advance(double now_s);
  // When something happens next; empty: never.
  [[nodiscard]] std::optional<double> next_s() const;
  // What has changed on GPUs since the last call.
  [[nodiscard]] std::vector<GpuObservation> take_observations();

  [[nodiscard]] std::span<const VirtualRun> runs() const { return history_; }
  [[nodiscard]] std::span<const ClusterMoment> moments() const { return moments_; }
  [[nodiscard]] double energy_joules() const;
  // SM activity of all GPUs, integrated over time: GPU seconds.
  [[nodiscard]] double busy_gpu_seconds() const;

 private:
  enum class Step { Begin, Grow, LateGrowth, LookAgain, Finish };
  struct Event {
    double at_s = 0.0;
    std::uint64_t order = 0;
    Step step = Step::Begin;
    std::size_t run = 0;
    std::uint32_t version = 0;
    bool operator>(const Event& other) const {
      return at_s != other.at_s ? at_s > other.at_s : order > other.order;
    }
  };
  // An attempt that has not ended.
  struct Running {
    RunId id{};
    std::size_t job = 0;
    std::size_t history = 0;
    std::vector<unsigned> gpus{};
    bool active = false;
    double done_s = 0.0;  // of its run time alone
    double speed = 0.0;
    double since_s = 0.0;
    std::uint64_t memory_bytes = 0;
    std::uint32_t version = 0;
    bool over = false;
  };
  struct Gpu {
    std::vector<std::size_t> residents{};  // of running_
    std::vector<double> speeds{};          // of each, by this GPU
    double sm_active = 0.0;
    std::uint64_t memory_bytes = 0;
    double since_s = 0.0;
    double busy_s = 0.0;
    bool changed = false;
    double unsettled_until_s = -1.0;
    PressureWindow window{};
  };

  void schedule(double at_s, Step step, std::size_t run);
  void handle(const Event& event);
  void begin(std::size_t run);
  void grow(std::size_t run, std::uint64_t bytes);
  void finish(std::size_t run, RunExit exit);
  void settle(Running& run);
  void regroup(std::span<const unsigned> gpus);
  void account(Gpu& gpu);
  void show_activity(unsigned index);
  void mark(unsigned index);
  [[nodiscard]] GpuObservation observation(unsigned index) const;

  const Trace& trace_;
  ClusterSpec cluster_;
  Options options_;
  std::unique_ptr<BoundInterference> interference_;
  std::vector<std::uint32_t> workload_of_;  // job of the trace: number for interference_
  std::vector<Gpu> gpus_;
  std::vector<Running> running_;
  std::vector<std::size_t> vacant_;  // of running_
  std::unordered_map<JobId, std::size_t> by_job_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  double now_s_ = 0.0;
  std::vector<RunReport> reports_;
  std::vector<unsigned> changed_;
  std::vector<VirtualRun> history_;
  std::vector<ClusterMoment> moments_;
  std::vector<std::uint32_t> group_;
};

}  // namespace carpool::simulate
