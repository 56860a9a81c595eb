// Jobs on simulated GPUs: they start up, grow, slow each other down, stand still, run out of memory
// and end by an injected clock. What a job does comes from a WorkSource: the trace of `carpool
// simulate`, or the job specs of `carpool serve --simulated`. This is the truth: schedulers and
// policies see what take_observations() shows of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/executor.hpp"
#include "core/gpu_observation.hpp"
#include "core/interference_model.hpp"
#include "simulate/cluster_spec.hpp"
#include "simulate/pressure_window.hpp"
#include "simulate/simulated_work.hpp"
#include "simulate/simulation_constants.hpp"

namespace carpool::simulate {

// One attempt, as it was.
struct SimulatedRun {
  std::size_t job = 0;  // of the trace: its job id - 1
  unsigned attempt = 0;
  std::vector<unsigned> gpus{};
  double started_s = 0.0;
  double ended_s = -1.0;           // below 0: not yet
  RunEnd end = RunEnd::Succeeded;  // OverCap and OutOfMemory are told apart
  unsigned pauses = 0;
  double paused_s = 0.0;
};

// The state of one GPU after a change.
struct ClusterMoment {
  double at_s = 0.0;
  unsigned gpu = 0;
  double sm_active = 0.0;
  std::uint64_t memory_bytes = 0;
};

class SimulatedExecutor final : public Executor {
 public:
  struct Options {
    SimulationConstants constants{};
    std::uint64_t seed = 0;      // of start-up times and noise
    bool watch_pressure = true;  // false: observations have no pressure
    double rates = 1.0;          // share of the jobs whose progress is measured
    bool thread_limits = false;  // false: the interference model is asked without them
    bool keep_runs = true;       // for runs()
    bool keep_moments = false;   // for charts
  };
  // Seconds; never goes back. Whatever is due happens when the executor is called next.
  using Clock = std::function<double()>;

  // `truth` outlives the executor.
  SimulatedExecutor(WorkSource work,
                    const ClusterSpec& cluster,
                    const InterferenceModel& truth,
                    Clock clock,
                    const Options& options);
  ~SimulatedExecutor() override;

  [[nodiscard]] Launched launch(const LaunchSpec& spec) override;
  void stop(RunId run, StopMode mode) override;
  void pause(RunId run) override;
  void resume(RunId run) override;
  [[nodiscard]] std::vector<RunReport> take_reports() override;
  // Simulated jobs end with their executor: after a restart none is found.
  [[nodiscard]] Result<FoundRun> find(const LaunchSpec& spec) override;

  // When something happens next; empty: never.
  [[nodiscard]] std::optional<double> next_s() const;
  // GPUs that changed since the last call, or that are looked at again: often after a change of
  // their jobs or memory, then ever more rarely. Only looks show samples and rates.
  [[nodiscard]] std::vector<GpuObservation> take_observations();
  [[nodiscard]] std::vector<GpuObservation> observe_all();

  [[nodiscard]] std::span<const SimulatedRun> runs() const { return history_; }
  [[nodiscard]] std::span<const ClusterMoment> moments() const { return moments_; }
  [[nodiscard]] double energy_joules_since(double start_s) const;  // no job ran before
  // SM activity of all GPUs, integrated over time: GPU seconds.
  [[nodiscard]] double busy_gpu_seconds() const;

 private:
  enum class Step { Begin, Grow, LateGrowth, Finish };
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
  // A GPU is looked at.
  struct Look {
    double at_s = 0.0;
    unsigned gpu = 0;
    std::uint32_t version = 0;
    bool operator>(const Look& other) const {
      return at_s != other.at_s ? at_s > other.at_s : gpu > other.gpu;
    }
  };
  // A step that stands still while the run does.
  struct Due {
    Step step = Step::Begin;
    double at_s = 0.0;  // while it is paused: time left
  };
  // An attempt that has not ended.
  struct Running {
    RunId id{};
    SimulatedWork work{};
    std::uint32_t workload = 0;  // number for interference_
    double thread_limit = kAllThreads;
    std::size_t history = 0;
    std::vector<unsigned> gpus{};
    std::optional<std::uint64_t> cap_bytes{};  // on each GPU
    bool begun = false;
    bool paused = false;
    double paused_at_s = 0.0;
    std::vector<Due> due{};  // besides Finish
    double done_s = 0.0;     // of its solo run time
    double speed = 0.0;
    double since_s = 0.0;
    double paced_s = 0.0;  // last change of its speed, or last measurement of its progress
    std::uint64_t measured = 0;
    std::uint64_t memory_bytes = 0;
    unsigned growths = 0;  // steps of the growth that goes on
    std::uint32_t version = 0;
    bool over = false;

    [[nodiscard]] bool computes() const { return begun && !paused; }
  };
  struct Gpu {
    std::vector<std::size_t> residents{};  // of running_
    std::vector<double> speeds{};          // of each, by this GPU
    double sm_active = 0.0;
    std::uint64_t memory_bytes = 0;
    double since_s = 0.0;
    double busy_s = 0.0;
    bool changed = false;
    bool looked_at = false;
    std::size_t looks = 0;  // since the last change
    std::uint32_t look_version = 0;
    std::uint64_t samples = 0;
    double unsettled_until_s = -1.0;
    PressureWindow window{};
  };

  void catch_up();
  [[nodiscard]] std::uint32_t number_of(const std::string& workload);
  [[nodiscard]] std::vector<double> speeds_of(std::span<const std::size_t> group);
  [[nodiscard]] Running* find_run(RunId run);
  void schedule(double at_s, Step step, std::size_t run);
  void schedule_due(double after_s, Step step, std::size_t run);
  void handle(const Event& event);
  void begin(std::size_t run);
  void grow_on(std::size_t run, Step step);
  void grow(std::size_t run, std::uint64_t bytes);
  [[nodiscard]] std::optional<RunEnd> refusal(const Running& run, std::uint64_t more) const;
  // `truth`: how it really ended, where the exit cannot say so.
  void finish(std::size_t run, RunExit exit, RunEnd truth);
  void settle(Running& run);
  void regroup(std::span<const unsigned> gpus);
  void account(Gpu& gpu);
  void show_activity(unsigned index);
  // The group of the GPU has changed, or only its memory.
  void mark(unsigned index, bool group_changed = true);
  void keep_moment(unsigned index);
  void look_again(unsigned index);
  // Whether something has changed since it was planned.
  [[nodiscard]] bool gone_by(const Look& due) const {
    return gpus_[due.gpu].look_version != due.version;
  }
  void look(const Look& due);
  [[nodiscard]] GpuObservation observation(unsigned index, bool with_sample);
  [[nodiscard]] GpuPressure sample(unsigned index);
  [[nodiscard]] std::optional<MeasuredRate> measure(Running& run);

  WorkSource work_;
  ClusterSpec cluster_;
  const InterferenceModel& truth_;
  Clock clock_;
  Options options_;
  std::unique_ptr<BoundInterference> interference_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  // workload: number for interference_
  std::vector<Gpu> gpus_;
  std::vector<Running> running_;
  std::vector<std::size_t> vacant_;  // of running_
  std::unordered_map<JobId, std::size_t> by_job_;
  std::set<RunId> abandoned_;  // found never to have begun
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::priority_queue<Look, std::vector<Look>, std::greater<>> looks_;
  std::uint64_t order_ = 0;
  double now_s_ = 0.0;
  std::vector<RunReport> reports_;
  std::vector<unsigned> changed_;
  std::vector<SimulatedRun> history_;
  std::vector<ClusterMoment> moments_;
};

}  // namespace carpool::simulate
