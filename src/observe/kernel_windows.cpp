// The part of ProgressWatch that has kernels recorded, once for each workload.
#include <algorithm>

#include <fmt/format.h>

#include "observe/progress_job.hpp"

namespace carpool::observe {
namespace {

constexpr std::uint32_t kKernelWindowMs = 3000;
// Queued kernels run, and are awaited, after the window.
constexpr double kKernelPatience = 25.0;
constexpr double kSteadySeconds = 8.0;      // since the group changed
constexpr double kUncountedSeconds = 15.0;  // where launches are not counted before
constexpr double kRetrySeconds = 60.0;
constexpr unsigned kMostTries = 3;
constexpr std::uint64_t kFewestKernels = 20;
// Launches a second in the window over those counted before: beyond, the job is in another phase.
// Recording slows a program of very short kernels.
constexpr double kSteadyFactor = 2.0;

bool is_steady(const KernelWindow& window, const std::optional<double>& before) {
  return !before || (window.launches_per_s <= *before * kSteadyFactor &&
                     *before <= window.launches_per_s * kSteadyFactor);
}

// Kernel time of a launch, at the rate at which the program launches when it is not recorded.
KernelWindow at_usual_rate(KernelWindow window, const std::optional<double>& before) {
  if (before) {
    const double factor = *before / window.launches_per_s;
    window.busy = std::min(window.busy * factor, 1.0);
    window.active = std::min(window.active * factor, 1.0);
    window.launches_per_s = *before;
  }
  return window;
}

}  // namespace

std::string refusal_text(gpu::window_format::State refusal, std::int32_t code) {
  switch (refusal) {
    case gpu::window_format::State::Busy:
      return "another profiler uses CUPTI in its process";
    case gpu::window_format::State::NoCupti:
      return "no CUPTI of CUDA 12 or 13 was found for its process";
    case gpu::window_format::State::Unseen:
      return "CUPTI gave no records of kernels that ran";
    default:
      return fmt::format("CUPTI refused with code {}", code);
  }
}

bool ProgressWatch::is_kernel_window_due(const Job& job, double now_s) {
  if (!job.file || job.open || job.owed || job.kernels.open || job.kernels.settled ||
      now_s < job.kernels.next_s) {
    return false;
  }
  const bool uncounted = job.trusted < job.counters.size();
  const double unchanged_s = now_s - job.changed_s;
  return uncounted ? unchanged_s >= kUncountedSeconds
                   : job.launches_per_s && unchanged_s >= kSteadySeconds;
}

// One at a time on each GPU: the jobs beside it run at their usual speed.
void ProgressWatch::open_kernel_windows(std::int64_t now_ns,
                                        std::span<const WatchedJob> jobs,
                                        std::span<const GpuObservation> seen) {
  const double now_s = seconds_of(now_ns);
  for (const GpuObservation& gpu : seen) {
    Job* chosen = nullptr;
    bool records = false;
    for (const GpuObservation::JobSeen& on_gpu : gpu.jobs) {
      const auto watched = std::ranges::find(jobs, on_gpu.job, &WatchedJob::job);
      const auto found = jobs_.find(on_gpu.job);
      if (watched == jobs.end() || found == jobs_.end()) {
        continue;
      }
      Job& job = *found->second;
      records = records || job.kernels.open.has_value();
      if (chosen == nullptr && watched->wants_kernels && !watched->paused &&
          is_kernel_window_due(job, now_s)) {
        chosen = &job;
      }
    }
    if (chosen != nullptr && !records) {
      order_kernels(now_ns, *chosen);
    }
  }
}

void ProgressWatch::order_kernels(std::int64_t now_ns, Job& job) {
  const Result<std::uint32_t> ordered =
      job.file->order(kKernelWindowMs, now_ns + kLeadNs, gpu::window_format::Kind::Kernels);
  job.kernels.settled = ++job.kernels.tries >= kMostTries;
  job.kernels.next_s = seconds_of(now_ns) + kRetrySeconds;
  if (ordered) {
    job.kernels.open = {.number = *ordered, .ordered_s = seconds_of(now_ns)};
  }
}

std::optional<KernelWindow> ProgressWatch::recorded_kernels(Job& job, double now_s) {
  if (!job.kernels.open) {
    return std::nullopt;
  }
  const Job::Window window = *job.kernels.open;
  const Result<gpu::WindowAnswers> answers = job.file->answers(window.number);
  if (answers && is_awaited(*answers) && now_s - window.ordered_s < kKernelPatience) {
    return std::nullopt;
  }
  job.kernels.open.reset();
  if (answers && answers->refusal) {
    job.kernels.settled = true;
    if (settings_.tell_kernels) {
      settings_.tell_kernels(job.job, refusal_text(*answers->refusal, answers->code));
    }
    return std::nullopt;
  }
  const bool whole = answers && answers->spoiled == 0 && answers->open == 0 && answers->kernels &&
                     answers->kernels->kernels >= kFewestKernels &&
                     job.changed_s <= window.ordered_s;
  if (!whole || !is_steady(*answers->kernels, job.launches_per_s)) {
    return std::nullopt;
  }
  job.kernels.settled = true;
  return at_usual_rate(*answers->kernels, job.launches_per_s);
}

}  // namespace carpool::observe
