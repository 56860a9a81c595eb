#include "simulate/simulated_executor.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace carpool::simulate {
namespace {

// How often a window of counters is observed while it fills.
constexpr double kWindowStep = 5.0;
// Seconds of work that are rounding errors: a clock of seconds since 1970 has steps of 2.4e-7.
constexpr double kNoWork = 1e-6;

constexpr unsigned kGrowthSteps = 5;

tl::unexpected<RunExit> never_started(std::string why) {
  return tl::unexpected(RunExit{.end = RunEnd::NeverStarted, .detail = std::move(why)});
}

}  // namespace

SimulatedExecutor::SimulatedExecutor(WorkSource work,
                                     const ClusterSpec& cluster,
                                     const InterferenceModel& truth,
                                     Clock clock,
                                     const Options& options)
    : work_(std::move(work)),
      cluster_(cluster),
      truth_(truth),
      clock_(std::move(clock)),
      options_(options),
      interference_(truth.bind({})),
      gpus_(cluster.gpus) {}

SimulatedExecutor::~SimulatedExecutor() = default;

std::uint32_t SimulatedExecutor::number_of(const std::string& workload) {
  const auto [found, added] =
      numbers_.try_emplace(workload, static_cast<std::uint32_t>(numbers_.size()));
  if (added) {
    interference_->add(workload);
  }
  return found->second;
}

void SimulatedExecutor::schedule(double at_s, Step step, std::size_t run) {
  events_.push({.at_s = at_s,
                .order = order_++,
                .step = step,
                .run = run,
                .version = running_[run].version});
}

void SimulatedExecutor::schedule_due(double after_s, Step step, std::size_t run) {
  running_[run].due.push_back({.step = step, .at_s = now_s_ + after_s});
  schedule(now_s_ + after_s, step, run);
}

SimulatedExecutor::Running* SimulatedExecutor::find_run(RunId run) {
  const auto found = by_job_.find(run.job);
  return found == by_job_.end() || running_[found->second].id != run ? nullptr
                                                                     : &running_[found->second];
}

Launched SimulatedExecutor::launch(const LaunchSpec& spec) {
  catch_up();
  if (abandoned_.contains(spec.run)) {
    return never_started(fmt::format(
        "attempt {} of job {} was given up before it began", spec.run.attempt, spec.run.job));
  }
  for (const unsigned gpu : spec.gpu_indices) {
    if (gpu >= gpus_.size()) {
      return never_started(fmt::format("GPU {}: {} has {}", gpu, cluster_.name, gpus_.size()));
    }
  }
  auto work = work_(spec);
  if (!work) {
    return never_started(work.error().message);
  }
  const std::size_t index = vacant_.empty() ? running_.size() : vacant_.back();
  if (vacant_.empty()) {
    running_.emplace_back();
  } else {
    vacant_.pop_back();
  }
  const auto job = static_cast<std::size_t>(spec.run.job) - 1;
  const std::uint32_t version = running_[index].version + 1;
  const std::uint32_t workload = number_of(work->workload);
  running_[index] = {.id = spec.run,
                     .work = std::move(*work),
                     .workload = workload,
                     .thread_limit = spec.thread_limit,
                     .history = history_.size(),
                     .gpus = spec.gpu_indices,
                     .since_s = now_s_,
                     .version = version};
  if (spec.mechanism == ShareMechanism::Mps) {
    running_[index].cap_bytes = spec.memory_limit_bytes;  // nothing else enforces it
  }
  if (options_.keep_runs) {
    history_.push_back(
        {.job = job, .attempt = spec.run.attempt, .gpus = spec.gpu_indices, .started_s = now_s_});
  }
  by_job_.insert_or_assign(spec.run.job, index);
  for (const unsigned gpu : spec.gpu_indices) {
    gpus_[gpu].residents.push_back(index);
    gpus_[gpu].speeds.push_back(0.0);
  }
  const double delay = start_delay_s(options_.constants, options_.seed, job, spec.run.attempt);
  schedule_due(delay, Step::Begin, index);
  return {};
}

void SimulatedExecutor::stop(RunId run, StopMode /*mode*/) {
  catch_up();
  if (find_run(run) != nullptr) {
    finish(by_job_.at(run.job), {.end = RunEnd::Cancelled, .at_s = now_s_}, RunEnd::Cancelled);
  }
}

std::vector<RunReport> SimulatedExecutor::take_reports() {
  catch_up();
  return std::exchange(reports_, {});
}

Result<FoundRun> SimulatedExecutor::find(const LaunchSpec& spec) {
  if (find_run(spec.run) != nullptr) {
    return FoundRun{.state = FoundRun::State::Running};
  }
  abandoned_.insert(spec.run);
  return FoundRun{.state = FoundRun::State::NeverBegan};
}

std::optional<double> SimulatedExecutor::next_s() const {
  std::optional<double> next;
  if (!events_.empty()) {
    next = events_.top().at_s;
  }
  if (!looks_.empty()) {
    next = std::min(next.value_or(looks_.top().at_s), looks_.top().at_s);
  }
  if (options_.watch_pressure) {
    for (const unsigned gpu : changed_) {
      if (gpus_[gpu].unsettled_until_s > now_s_) {
        next = std::min(next.value_or(now_s_ + kWindowStep), now_s_ + kWindowStep);
        break;
      }
    }
  }
  return next;
}

void SimulatedExecutor::catch_up() {
  const double now_s = clock_();
  while (!events_.empty() && events_.top().at_s <= now_s) {
    const Event event = events_.top();
    events_.pop();
    if (running_[event.run].version == event.version && !running_[event.run].over) {
      now_s_ = std::max(now_s_, event.at_s);
      handle(event);
    }
  }
  now_s_ = std::max(now_s_, now_s);
  while (!looks_.empty() && (looks_.top().at_s <= now_s_ || gone_by(looks_.top()))) {
    const Look due = looks_.top();
    looks_.pop();
    look(due);
  }
}

void SimulatedExecutor::handle(const Event& event) {
  Running& run = running_[event.run];
  std::erase_if(run.due, [&](const Due& due) { return due.step == event.step; });
  switch (event.step) {
    case Step::Begin:
      begin(event.run);
      break;
    case Step::Grow:
    case Step::LateGrowth:
      grow_on(event.run, event.step);
      break;
    case Step::Finish:
      settle(run);
      if (run.done_s + kNoWork >= run.work.solo_s) {
        finish(event.run, {.end = RunEnd::Succeeded, .code = 0, .at_s = now_s_}, RunEnd::Succeeded);
      }
      break;
  }
}

void SimulatedExecutor::begin(std::size_t index) {
  Running& run = running_[index];
  const SimulatedWork& work = run.work;
  run.begun = true;
  run.since_s = now_s_;
  reports_.push_back({.kind = RunReport::Kind::Running, .run = run.id});
  grow(index, work.early_bytes / 2);
  if (run.over) {
    return;
  }
  schedule_due(options_.constants.growth_s / kGrowthSteps, Step::Grow, index);
  if (work.peak_bytes > work.early_bytes) {
    schedule_due(options_.constants.late_growth_s, Step::LateGrowth, index);
  }
  regroup(run.gpus);
}

// Memory grows in equal steps: to the early peak, later to the peak.
void SimulatedExecutor::grow_on(std::size_t index, Step step) {
  Running& run = running_[index];
  const bool late = step == Step::LateGrowth;
  const std::uint64_t from = late ? run.work.early_bytes : run.work.early_bytes / 2;
  const std::uint64_t to = late ? run.work.peak_bytes : run.work.early_bytes;
  ++run.growths;
  grow(index, run.growths < kGrowthSteps ? from + (to - from) / kGrowthSteps * run.growths : to);
  if (run.over) {
    return;
  }
  if (run.growths < kGrowthSteps) {
    schedule_due(options_.constants.growth_s / kGrowthSteps, step, index);
  } else {
    run.growths = 0;
  }
}

// Why a run cannot have so much more memory. A cap counts all that a process holds, its context
// included; the driver's own memory belongs to no process.
std::optional<RunEnd> SimulatedExecutor::refusal(const Running& run, std::uint64_t more) const {
  if (run.cap_bytes && run.memory_bytes + more > *run.cap_bytes) {
    return RunEnd::OverCap;
  }
  const std::uint64_t capacity =
      cluster_.memory_bytes - std::min(cluster_.memory_bytes, options_.constants.driver_bytes);
  const bool fits = std::ranges::all_of(
      run.gpus, [&](unsigned gpu) { return gpus_[gpu].memory_bytes + more <= capacity; });
  return fits ? std::nullopt : std::optional(RunEnd::OutOfMemory);
}

// A run that requests more than is left ends, whichever run holds the rest.
void SimulatedExecutor::grow(std::size_t index, std::uint64_t bytes) {
  Running& run = running_[index];
  const std::uint64_t more = bytes - std::min(bytes, run.memory_bytes);
  if (const auto refused = refusal(run, more)) {
    // A program cannot tell its cap from the end of the GPU.
    finish(index,
           {.end = RunEnd::OutOfMemory,
            .code = 1,
            .detail = fmt::format("out of memory: tried to allocate {} MiB", more / kMebibyte),
            .wanted_bytes = more,
            .held_bytes = run.memory_bytes,
            .at_s = now_s_},
           *refused);
    return;
  }
  run.memory_bytes += more;
  for (const unsigned gpu : run.gpus) {
    gpus_[gpu].memory_bytes += more;
    mark(gpu, false);
  }
}

void SimulatedExecutor::finish(std::size_t index, RunExit exit, RunEnd truth) {
  Running& run = running_[index];
  run.over = true;
  ++run.version;
  if (options_.keep_runs) {
    SimulatedRun& kept = history_[run.history];
    kept.ended_s = now_s_;
    kept.end = truth;
    kept.paused_s += run.paused ? now_s_ - run.paused_at_s : 0.0;
  }
  reports_.push_back({.kind = RunReport::Kind::Ended, .run = run.id, .exit = std::move(exit)});
  for (const unsigned gpu : run.gpus) {
    Gpu& at = gpus_[gpu];
    account(at);
    const auto place = std::ranges::find(at.residents, index) - at.residents.begin();
    at.residents.erase(at.residents.begin() + place);
    at.speeds.erase(at.speeds.begin() + place);
    at.memory_bytes -= std::min(at.memory_bytes, run.memory_bytes);
    mark(gpu);
  }
  by_job_.erase(run.id.job);
  const std::vector<unsigned> gpus = std::move(run.gpus);
  vacant_.push_back(index);
  regroup(gpus);
}

void SimulatedExecutor::settle(Running& run) {
  run.done_s += run.speed * (now_s_ - run.since_s);
  run.since_s = now_s_;
}

}  // namespace carpool::simulate
