#include "app/server/live_progress.hpp"

#include <algorithm>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text/progress_pattern.hpp"
#include "gpu/cupti/injection.hpp"
#include "observe/output_count.hpp"
#include "observe/step_count.hpp"
#include "run/progress_files.hpp"
#include "run/run_folder.hpp"

namespace carpool::app {
namespace {

// Nothing of a job that runs without the library.
std::optional<observe::CountSeen> launches_seen(const ShimWatch& shim, JobId job, double now_s) {
  const std::optional<std::uint64_t> launches = shim.launches(job);
  if (!launches) {
    return std::nullopt;
  }
  return observe::CountSeen{.count = static_cast<double>(*launches), .at_s = now_s};
}

std::vector<observe::ProgressCounter> counters_of(const ProgressJob& job,
                                                  const run::ProgressFiles& files,
                                                  const run::RunFolder& folder,
                                                  const std::shared_ptr<const ShimWatch>& shim) {
  std::vector<observe::ProgressCounter> counters;
  if (auto steps = observe::StepCount::open(files.step_file())) {
    auto shared = std::make_shared<observe::StepCount>(std::move(*steps));
    counters.push_back(
        {ProgressSource::Steps, [shared](double now_s) { return shared->read(now_s); }});
  }
  if (is_progress_pattern(job.progress)) {
    if (auto pattern = ProgressPattern::make(job.progress)) {
      auto shared = std::make_shared<observe::OutputCount>(
          std::move(*pattern),
          std::vector<std::filesystem::path>{folder.stdout_file(), folder.stderr_file()});
      counters.push_back(
          {ProgressSource::Output, [shared](double now_s) { return shared->read(now_s); }});
    }
  }
  if (shim) {
    counters.push_back({ProgressSource::Launches, [shim, id = job.run.job](double now_s) {
                          return launches_seen(*shim, id, now_s);
                        }});
  }
  return counters;
}

// Null while it is on no GPU.
const Resident* resident_of(const schedule::Scheduler& scheduler, JobId job) {
  for (const GpuView& gpu : scheduler.gpus()) {
    const auto found = std::ranges::find(gpu.residents, job, &Resident::job);
    if (found != gpu.residents.end()) {
      return &*found;
    }
  }
  return nullptr;
}

// Kernels are recorded once for each workload. Those of several GPUs are not told apart.
bool wants_kernels(const schedule::Scheduler& scheduler, const Resident& resident) {
  const auto belief = scheduler.interference().belief(resident.workload);
  return !resident.several_gpus && belief && !belief->window;
}

observe::ProgressSettings watch_settings() {
  observe::ProgressSettings settings;
  settings.tell = [](JobId job, const std::string& why) {
    log_info(fmt::format("the launches of job {} are not counted: {}", job, why));
  };
  settings.tell_kernels = [](JobId job, const std::string& why) {
    log_info(fmt::format("the kernels of job {} are not recorded: {}", job, why));
  };
  return settings;
}

}  // namespace

run::ProgressPlace progress_place(std::filesystem::path folder, bool count_launches) {
  run::ProgressPlace place{.folder = std::move(folder)};
  if (!count_launches) {
    return place;
  }
  if (auto library = gpu::find_profile_library()) {
    place.library = std::move(*library);
  } else {
    log_warning(fmt::format("the launches of jobs are not counted: {}", library.error().message));
  }
  return place;
}

std::vector<ProgressJob> jobs_in_progress(const run::ProcessExecutor& executor,
                                          const schedule::Scheduler& scheduler) {
  std::vector<ProgressJob> jobs;
  for (const run::RunningJob& running : executor.running()) {
    const JobRecord* record = scheduler.find(running.run.job);
    const Resident* resident = resident_of(scheduler, running.run.job);
    jobs.push_back({.run = running.run,
                    .progress = record != nullptr ? record->spec.progress : std::string(),
                    .paused = resident != nullptr && resident->phase == ResidentPhase::Paused,
                    .wants_kernels = resident != nullptr && wants_kernels(scheduler, *resident)});
  }
  return jobs;
}

LiveProgress::LiveProgress(std::filesystem::path place,
                           std::filesystem::path runs,
                           bool record_kernels,
                           std::shared_ptr<const ShimWatch> shim)
    : place_(std::move(place)),
      runs_(std::move(runs)),
      record_kernels_(record_kernels),
      shim_(std::move(shim)),
      watch_(watch_settings()) {
  if (place_.empty()) {
    return;
  }
  // Of a previous server. New ones may be of attempts that are about to run.
  constexpr double kNew = 60.0;  // seconds
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(place_, ignored)) {
    struct stat status{};
    if (::lstat(entry.path().c_str(), &status) == 0 &&
        static_cast<double>(status.st_mtime) < epoch_seconds() - kNew) {
      folders_.insert(entry.path().filename().string());
    }
  }
}

void LiveProgress::follow(const std::vector<ProgressJob>& jobs) {
  if (place_.empty()) {
    return;
  }
  std::set<std::string> running;
  jobs_.clear();
  for (const ProgressJob& job : jobs) {
    running.insert(fmt::format("{}.{}", job.run.job, job.run.attempt));
    if (job.progress == kNoProgress) {
      continue;
    }
    const run::ProgressFiles files = run::ProgressFiles::of(place_, job.run);
    const run::RunFolder folder = run::RunFolder::of(runs_, job.run);
    std::error_code ignored;
    jobs_.push_back(
        {.job = job.run.job,
         .attempt = job.run.attempt,
         .paused = job.paused,
         .window_file = std::filesystem::exists(files.window_file(), ignored)
                            ? files.window_file()
                            : std::filesystem::path(),
         .counters =
             [job, files, folder, shim = shim_] { return counters_of(job, files, folder, shim); },
         .wants_kernels = record_kernels_ && job.wants_kernels});
  }
  for (const std::string& name : folders_) {
    if (!running.contains(name)) {
      std::error_code ignored;
      std::filesystem::remove_all(place_ / name, ignored);
    }
  }
  folders_ = std::move(running);
}

void LiveProgress::measure(std::vector<GpuObservation>& seen) {
  if (!place_.empty()) {
    watch_.update(monotonic_ns(), jobs_, seen);
  }
}

}  // namespace carpool::app
