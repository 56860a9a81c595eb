#include "app/server/live_gpus.hpp"

#include <utility>
#include <vector>

#include "app/server/live_progress.hpp"
#include "app/top/gpu_watch.hpp"
#include "base/process/thread.hpp"
#include "gpu/mps/mps_daemon.hpp"
#include "observe/processor_load.hpp"

namespace carpool::app {
namespace {

// Its neighbours, memory and activity are about to change, or have just changed.
bool is_lively(const Resident& resident, double now_s) {
  constexpr double kAfterChangeS = 15.0;
  constexpr double kStartS = 120.0;  // some jobs never use their GPU
  return now_s - resident.phase_since_s <
         (resident.phase == ResidentPhase::Starting ? kStartS : kAfterChangeS);
}

// On the thread of the scheduler.
observe::RunningJobs running_jobs(const run::ProcessExecutor& executor,
                                  const schedule::Scheduler& scheduler,
                                  double now_s) {
  observe::RunningJobs jobs;
  for (const run::RunningJob& job : executor.running()) {
    jobs.processes.push_back(
        {.job = job.run.job, .supervisor = job.supervisor, .session = job.session});
  }
  for (const GpuView& gpu : scheduler.gpus()) {
    for (const Resident& resident : gpu.residents) {
      jobs.residents[gpu.index].push_back(resident.job);
      jobs.lively = jobs.lively || is_lively(resident, now_s);
    }
  }
  return jobs;
}

// What runs now, for the watcher; jobs with the library are looked at on the way.
auto running_port(const run::ProcessExecutor& executor,
                  serve::SchedulerLoop& loop,
                  const std::shared_ptr<LiveProgress>& progress,
                  const WatchSettings& settings) {
  return [&executor,
          &loop,
          progress,
          shim = settings.shim,
          kept = settings.shim_jobs,
          gates = settings.gates,
          job_map = settings.job_map,
          energy_file = settings.energy] {
    std::vector<ProgressJob> jobs;
    std::vector<ShimTarget> shared;
    schedule::EnergyRecord energy;
    auto running =
        loop.ask<observe::RunningJobs>([&](schedule::Scheduler& scheduler, double now_s) {
          jobs = jobs_in_progress(executor, scheduler);
          energy = scheduler.energy();
          if (shim && kept) {
            shared = shim_targets(scheduler);
            kept->follow(scheduler);
          }
          return Result<observe::RunningJobs>(running_jobs(executor, scheduler, now_s));
        });
    if (running) {
      if (shim) {
        shim->look(shared);
        gates(shim->gates());
      }
      progress->follow(jobs);
      if (job_map) {
        job_map->follow(running->residents);
      }
      if (energy_file) {
        energy_file->keep(energy);
      }
    }
    return running;
  };
}

// Hands what the watcher saw to the scheduler.
auto post_port(serve::SchedulerLoop& loop,
               const std::shared_ptr<LiveProgress>& progress,
               const WatchSettings& settings) {
  const auto processors = std::make_shared<observe::ProcessorLoad>();
  return [&loop, progress, processors, shim = settings.shim, jobs = settings.shim_jobs](
             std::vector<GpuObservation> seen) {
    progress->measure(seen);
    if (shim) {
      shim->measure(seen);
    }
    const std::vector<ShimEscape> escaped = shim ? shim->escaped(seen) : std::vector<ShimEscape>();
    const std::optional<double> idle = processors->idle();
    loop.post(serve::PostTopic::Gpus,
              [seen = std::move(seen), idle, escaped, jobs](schedule::Scheduler& scheduler,
                                                            double now_s) {
                if (idle) {
                  scheduler.observe_processors(*idle);
                }
                for (const GpuObservation& observation : seen) {
                  scheduler.observe(observation, now_s);
                }
                for (const ShimEscape& escape : escaped) {
                  scheduler.cap_escaped(escape.job, escape.how);
                }
                if (jobs) {
                  jobs->update();
                }
              });
  };
}

}  // namespace

Result<observe::UsableGpus> find_gpus(bool use_mps) {
  return open_gpus().and_then([&](std::unique_ptr<TelemetrySource> source) {
    return observe::find_usable_gpus(std::move(source), use_mps && gpu::probe_mps().has_value());
  });
}

std::vector<serve::JobPids> job_pids(const run::ProcessExecutor& executor) {
  std::vector<serve::JobPids> pids;
  for (const run::RunningJob& job : executor.running()) {
    pids.push_back({.job = job.run.job, .supervisor = job.supervisor, .session = job.session});
  }
  return pids;
}

Result<std::unique_ptr<observe::GpuWatcher>> watch_gpus(observe::UsableGpus& gpus,
                                                        const run::ProcessExecutor& executor,
                                                        serve::SchedulerLoop& loop,
                                                        const WatchSettings& settings) {
  // Both ports are called by the thread of the watcher.
  const auto progress = std::make_shared<LiveProgress>(settings.running.progress.folder,
                                                       settings.running.runs,
                                                       settings.record_kernels,
                                                       settings.shim);
  observe::WatcherPorts ports;
  ports.readings = settings.readings;
  if (settings.shim) {
    ports.processes = [shim = settings.shim](const observe::SeenProcesses& processes) {
      shim->account(processes);
    };
  }
  ports.running = running_port(executor, loop, progress, settings);
  ports.post = post_port(loop, progress, settings);
  try {
    return std::make_unique<observe::GpuWatcher>(
        *gpus.source, gpus.watched, settings.observing, std::move(ports));
  } catch (const std::system_error& problem) {
    return thread_failure(problem);
  }
}

}  // namespace carpool::app
