// Measures the progress of the jobs that the server runs (observe/progress_watch.hpp).
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/server/shim/shim_watch.hpp"
#include "core/gpu_observation.hpp"
#include "observe/progress_watch.hpp"
#include "run/process_executor.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::app {

// Without the library, or where launches are not to be counted, jobs are measured by what they
// report.
[[nodiscard]] run::ProgressPlace progress_place(std::filesystem::path folder, bool count_launches);

// One running job, as far as its progress is concerned.
struct ProgressJob {
  RunId run{};
  std::string progress{};  // JobSpec::progress
  bool paused = false;
  bool wants_kernels = false;  // they are to be recorded
};

// On the thread of the scheduler.
[[nodiscard]] std::vector<ProgressJob> jobs_in_progress(const run::ProcessExecutor& executor,
                                                        const schedule::Scheduler& scheduler);

// Used by one thread. Also removes the files of attempts that have ended.
class LiveProgress {
 public:
  // The folders of ProcessExecutorSettings; an empty `place`: nothing is measured. `shim` counts
  // launches of jobs that run with the library in front of the driver; null: none does.
  LiveProgress(std::filesystem::path place,
               std::filesystem::path runs,
               bool record_kernels,
               std::shared_ptr<const ShimWatch> shim = nullptr);

  void follow(const std::vector<ProgressJob>& jobs);
  // Adds the rates of the jobs that follow() was told last.
  void measure(std::vector<GpuObservation>& seen);

 private:
  std::filesystem::path place_;
  std::filesystem::path runs_;
  bool record_kernels_;
  std::shared_ptr<const ShimWatch> shim_;
  std::set<std::string> folders_;  // names, of attempts that ran before
  std::vector<observe::WatchedJob> jobs_;
  observe::ProgressWatch watch_;
};

}  // namespace carpool::app
