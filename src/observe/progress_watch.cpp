#include "observe/progress_watch.hpp"

#include <algorithm>
#include <utility>

#include "observe/progress_job.hpp"

namespace carpool::observe {
namespace {

constexpr double kAnswerPatience = 15.0;
constexpr std::uint64_t kFewestLaunches = 20;
// A job that launched this many times as often before is starved: few launches say so.
constexpr double kStarved = 10.0;

std::vector<ComputingGroup> computing(std::span<const WatchedJob> jobs,
                                      std::span<const GpuObservation> seen) {
  std::vector<ComputingGroup> groups;
  for (const GpuObservation& gpu : seen) {
    ComputingGroup group{.gpu = gpu.gpu};
    for (const GpuObservation::JobSeen& job : gpu.jobs) {
      const auto watched = std::ranges::find(jobs, job.job, &WatchedJob::job);
      if (watched != jobs.end() && !watched->paused) {
        group.jobs.push_back(job.job);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// Whether they tell a rate.
bool enough(const JobProgress& job, const gpu::WindowAnswers& answers) {
  return answers.launches >= kFewestLaunches ||
         (answers.launches > 0 &&
          job.most_per_s * answers.over_s >= kStarved * static_cast<double>(kFewestLaunches));
}

}  // namespace

ProgressWatch::ProgressWatch(ProgressSettings settings)
    : settings_(std::move(settings)), schedule_(settings_.times) {}

ProgressWatch::~ProgressWatch() = default;

ProgressWatch::Job& ProgressWatch::follow(const WatchedJob& job) {
  std::unique_ptr<Job>& place = jobs_[job.job];
  if (place && place->attempt == job.attempt) {
    return *place;
  }
  place = std::make_unique<Job>();
  place->job = job.job;
  place->attempt = job.attempt;
  if (job.counters) {
    for (ProgressCounter& counter : job.counters()) {
      const ProgressSource source = counter.source;
      place->counters.push_back({std::move(counter), ProgressRate(source)});
    }
  }
  place->trusted = place->counters.size();
  if (!job.window_file.empty()) {
    Result<gpu::WindowFile> file = gpu::WindowFile::open(job.window_file);
    if (file) {
      place->file.emplace(std::move(*file));
    } else {
      tell_once(*place, file.error().message);
    }
  }
  return *place;
}

void ProgressWatch::tell_once(Job& job, const std::string& why) {
  if (!std::exchange(job.told, true) && settings_.tell) {
    settings_.tell(job.job, why);
  }
}

// Sources are not mixed: once a counter counts, those behind it are not used.
std::optional<MeasuredRate> ProgressWatch::rate_of(Job& job, double now_s) {
  std::optional<MeasuredRate> rate;
  for (std::size_t place = 0; place < job.counters.size() && place <= job.trusted; ++place) {
    Job::Counter& counter = job.counters[place];
    if (const std::optional<CountSeen> seen = counter.port.read(now_s)) {
      job.trusted = place;
      rate = counter.rate.add(*seen);
      break;
    }
  }
  const std::optional<MeasuredRate> launches = counted(job, now_s);
  return job.trusted < job.counters.size() ? rate : launches;
}

// The answer to a window, if its group has not changed since.
std::optional<MeasuredRate> ProgressWatch::counted(Job& job, double now_s) {
  if (!job.open) {
    return std::nullopt;
  }
  const Result<gpu::WindowAnswers> answers = job.file->answers(job.open->number);
  if (!answers) {
    tell_once(job, answers.error().message);
    job.open.reset();
    return std::nullopt;
  }
  if (is_awaited(*answers) && now_s - job.open->ordered_s < kAnswerPatience) {
    return std::nullopt;
  }
  const bool same_group = job.changed_s <= job.open->ordered_s;
  job.open.reset();
  if (answers->refusal) {
    tell_once(job, refusal_text(*answers->refusal, answers->code));
  }
  if (!same_group || answers->spoiled != 0 || answers->open != 0 || answers->refusal ||
      !enough(job, *answers)) {
    return std::nullopt;
  }
  job.launches_per_s = answers->per_s;
  job.most_per_s = std::max(job.most_per_s, answers->per_s);
  return MeasuredRate{
      .per_s = answers->per_s, .over_s = answers->over_s, .source = ProgressSource::Launches};
}

void ProgressWatch::open_window(std::int64_t now_ns, Job& job) {
  const Result<std::uint32_t> ordered = job.file->order(settings_.window_ms, now_ns + kLeadNs);
  if (ordered) {
    job.open = {.number = *ordered, .ordered_s = seconds_of(now_ns)};
  } else {
    tell_once(job, ordered.error().message);
  }
}

// A job whose kernels are recorded is counted afterwards.
void ProgressWatch::open_windows(std::int64_t now_ns, const std::set<JobId>& due) {
  for (auto& [id, job] : jobs_) {
    const bool counts = job->file && job->trusted >= job->counters.size();
    job->owed = counts && (job->owed || due.contains(id));
    if (job->owed && !job->kernels.open) {
      job->owed = false;
      open_window(now_ns, *job);
    }
  }
}

void ProgressWatch::restart_rates(Job& job, double now_s) const {
  job.launches_per_s.reset();
  for (Job::Counter& counter : job.counters) {
    // The launches of a job that sets up are not those of its work.
    const bool launches = counter.port.source == ProgressSource::Launches;
    counter.rate.restart(launches ? now_s + settings_.times.after_newcomer_s : now_s);
  }
}

void ProgressWatch::update(std::int64_t now_ns,
                           std::span<const WatchedJob> jobs,
                           std::vector<GpuObservation>& seen) {
  const double now_s = seconds_of(now_ns);
  std::erase_if(jobs_, [&](const auto& entry) {
    return std::ranges::find(jobs, entry.first, &WatchedJob::job) == jobs.end();
  });
  const std::set<JobId> due = schedule_.due(now_s, computing(jobs, seen));
  std::map<JobId, MeasuredRate> rates;
  std::map<JobId, KernelWindow> kernels;
  for (const WatchedJob& watched : jobs) {
    Job& job = follow(watched);
    if (const auto changed = schedule_.changed_s(watched.job);
        changed && *changed != job.changed_s) {
      job.changed_s = *changed;
      restart_rates(job, now_s);
    }
    if (const auto rate = rate_of(job, now_s)) {
      rates[watched.job] = *rate;
    }
    if (const auto recorded = recorded_kernels(job, now_s)) {
      kernels[watched.job] = *recorded;
    }
  }
  open_windows(now_ns, due);
  open_kernel_windows(now_ns, jobs, seen);
  for (GpuObservation& gpu : seen) {
    for (GpuObservation::JobSeen& job : gpu.jobs) {
      if (const auto rate = rates.find(job.job); rate != rates.end()) {
        job.rate = rate->second;
      }
      if (const auto recorded = kernels.find(job.job); recorded != kernels.end()) {
        job.window = recorded->second;
      }
    }
  }
}

}  // namespace carpool::observe
