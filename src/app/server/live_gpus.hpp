// Connects the GPUs of this machine with the scheduler of `carpool serve`.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/server/dcgm_job_map.hpp"
#include "app/server/energy/energy_file.hpp"
#include "app/server/shim/shim_jobs.hpp"
#include "app/server/shim/shim_watch.hpp"
#include "base/result.hpp"
#include "observe/gpu_watcher.hpp"
#include "observe/usable_gpus.hpp"
#include "run/process_executor.hpp"
#include "serve/job_api.hpp"
#include "serve/scheduler_loop.hpp"

namespace carpool::app {

// NotFound where there is no GPU that jobs can use.
[[nodiscard]] Result<observe::UsableGpus> find_gpus(bool use_mps);

// On the thread of the scheduler.
[[nodiscard]] std::vector<serve::JobPids> job_pids(const run::ProcessExecutor& executor);

struct WatchSettings {
  observe::ObserverSettings observing{};
  run::ProcessExecutorSettings running{};  // of the executor
  bool record_kernels = false;             // once for each workload
  // Null: no job runs with the library of docs/shim.md.
  std::shared_ptr<ShimWatch> shim{};
  std::shared_ptr<ShimJobs> shim_jobs{};
  std::shared_ptr<DcgmJobMap> job_map{};  // null: none
  std::shared_ptr<EnergyFile> energy{};   // null: energy does not survive a restart
  // Takes what the gate did to jobs.
  std::function<void(std::vector<serve::JobGate>)> gates{};
  // Takes all that is read of the GPUs.
  std::function<void(std::vector<carpool::GpuReading>)> readings{};
};

// Reads the GPUs each second and passes what it sees to the scheduler, with the progress of its
// jobs. All arguments outlive it.
[[nodiscard]] Result<std::unique_ptr<observe::GpuWatcher>> watch_gpus(
    observe::UsableGpus& gpus,
    const run::ProcessExecutor& executor,
    serve::SchedulerLoop& loop,
    const WatchSettings& settings);

}  // namespace carpool::app
