// Runs jobs as processes of this machine, each beside a supervisor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/executor.hpp"
#include "run/progress_files.hpp"

namespace carpool::run {

using Variables = std::map<std::string, std::string>;

struct ProcessExecutorSettings {
  std::filesystem::path runs{};            // one folder per attempt
  std::filesystem::path mps{};             // folders of MPS daemons; short, see MpsFolder
  std::string program = "/proc/self/exe";  // has the command `guard`
  std::string journal{};                   // identity of the journal whose jobs it runs
  std::function<double()> clock{};         // seconds of the scheduler; empty: epoch_seconds()
  std::filesystem::path cgroups{};  // from divide_own_cgroup(); empty: attempts have no cgroups
  ProgressPlace progress{};
  // OMP_NUM_THREADS of a job that shares a GPU and does not set it; 0: the variable is left alone.
  unsigned openmp_threads = 0;
  std::uint64_t output_limit_bytes = 0;  // disk space of each output of a job; 0: no limit
  // Asked before each start, with the environment of the job: variables by which it runs with the
  // library in front of the driver. None: it runs without it.
  std::function<Variables(const LaunchSpec&, const Variables&)> shim{};
  // Called before an attempt goes on after a pause.
  std::function<void(RunId)> before_resume{};
  // Whether that library has refused memory to the attempt, which has ended.
  std::function<bool(RunId)> refused{};
};

// The processes of a running job.
struct RunningJob {
  RunId run{};
  pid_t supervisor = 0;
  pid_t session = 0;  // of the job's processes
};

class ProcessExecutor final : public Executor {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ProcessExecutor>> open(
      const ProcessExecutorSettings& settings);
  ~ProcessExecutor() override;

  [[nodiscard]] Launched launch(const LaunchSpec& spec) override;
  void stop(RunId run, StopMode mode) override;
  void pause(RunId run) override;
  void resume(RunId run) override;
  [[nodiscard]] std::vector<RunReport> take_reports() override;
  [[nodiscard]] Result<FoundRun> find(const LaunchSpec& spec) override;

  // For a server that ends: no job stands still until the next one. That one pauses them again.
  void resume_all();

  // Readable when take_reports() has something to do.
  [[nodiscard]] int wake_descriptor() const;
  [[nodiscard]] std::vector<RunningJob> running() const;

 private:
  struct State;
  explicit ProcessExecutor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carpool::run
