#include "app/server/live_gpus.hpp"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/top/gpu_watch.hpp"
#include "app/top/process_names.hpp"
#include "base/clock.hpp"
#include "gpu/mps/mps_daemon.hpp"
#include "run/process_table.hpp"

namespace carpool::app {
namespace {

constexpr std::chrono::milliseconds kLookEvery{100};
constexpr int kLooksPerReading = 10;

// A whole GPU, or every slice of one that is cut.
void add_views(const GpuInfo& gpu,
               bool mps,
               std::vector<GpuView>& whole,
               std::vector<GpuView>& cut) {
  if (!gpu.mig_enabled) {
    whole.push_back({.uuid = gpu.uuid,
                     .memory_bytes = gpu.memory_bytes,
                     .mps_possible = mps && gpu.compute_mode != "prohibited"});
    return;
  }
  for (const MigSlice& slice : gpu.mig) {
    cut.push_back({.uuid = slice.uuid, .memory_bytes = slice.memory_bytes});
  }
}

struct Snapshot {
  std::vector<run::RunningJob> running{};
  std::map<unsigned, std::vector<JobId>> residents{};
};

bool is_machinery(std::int64_t pid) {
  return name_process(pid).command.find("nvidia-cuda-mps") != std::string::npos;
}

observe::ProcessOwners who_is_who(const Snapshot& now) {
  const std::vector<run::ProcessEntry> processes = run::list_processes();
  std::map<std::int64_t, JobId> jobs;
  std::set<std::int64_t> visible;
  for (const run::ProcessEntry& process : processes) {
    visible.insert(process.pid);
  }
  for (const run::RunningJob& job : now.running) {
    for (const pid_t pid : run::job_processes(processes, job.guard, job.session)) {
      jobs[pid] = job.run.job;
    }
  }
  const auto owner = [jobs = std::move(jobs), visible = std::move(visible)](std::int64_t pid) {
    if (const auto job = jobs.find(pid); job != jobs.end()) {
      return observe::ProcessOwner{observe::ProcessOwner::Kind::Job, job->second};
    }
    if (!visible.contains(pid)) {
      return observe::ProcessOwner{observe::ProcessOwner::Kind::Unknown};
    }
    return observe::ProcessOwner{is_machinery(pid) ? observe::ProcessOwner::Kind::MpsServer
                                                   : observe::ProcessOwner::Kind::Foreign};
  };
  return {.owner = owner, .residents = now.residents};
}

}  // namespace

Result<LiveGpus> find_gpus(bool use_mps) {
  LiveGpus found;
  auto source = open_gpus();
  if (!source) {
    return tl::unexpected(source.error());
  }
  found.source = std::move(*source);
  const auto gpus = found.source->list_gpus();
  if (!gpus) {
    return tl::unexpected(gpus.error());
  }
  const bool mps = use_mps && gpu::probe_mps().has_value();
  std::vector<GpuView> cut;
  for (const GpuInfo& gpu : *gpus) {
    add_views(gpu, mps, found.views, cut);
    if (!gpu.mig_enabled) {
      found.watched.push_back(gpu);
    }
  }
  found.views.insert(found.views.end(), cut.begin(), cut.end());
  for (std::size_t place = 0; place < found.views.size(); ++place) {
    found.views[place].index = static_cast<unsigned>(place);
  }
  if (found.views.empty()) {
    return fail(ErrorCode::NotFound, "the driver works, but there is no GPU that jobs could use");
  }
  return found;
}

GpuWatcher::GpuWatcher(LiveGpus& gpus,
                       const run::ProcessExecutor& executor,
                       serve::SchedulerLoop& loop,
                       const observe::ObserverSettings& settings)
    : observer_(*gpus.source, gpus.watched, settings),
      executor_(executor),
      loop_(loop),
      thread_([this] { run(); }) {}

GpuWatcher::~GpuWatcher() {
  ending_ = true;
  thread_.join();
}

void GpuWatcher::run() {
  for (int look = 0; !ending_; ++look) {
    if (look % kLooksPerReading != 0) {
      pause_for(kLookEvery);
      continue;
    }
    const Result<Snapshot> now = loop_.ask<Snapshot>([&](schedule::Scheduler& scheduler, double) {
      Snapshot snapshot{.running = executor_.running()};
      for (const GpuView& gpu : scheduler.gpus()) {
        for (const Resident& resident : gpu.residents) {
          snapshot.residents[gpu.index].push_back(resident.job);
        }
      }
      return Result<Snapshot>(std::move(snapshot));
    });
    if (!now) {
      return;  // the loop has ended
    }
    loop_.post(
        [seen = observer_.read(who_is_who(*now))](schedule::Scheduler& scheduler, double now_s) {
          for (const GpuObservation& observation : seen) {
            scheduler.observe(observation, now_s);
          }
        });
    pause_for(kLookEvery);
  }
}

}  // namespace carpool::app
