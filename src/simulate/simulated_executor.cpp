#include "simulate/simulated_executor.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace carpool::simulate {
namespace {

// How often a window of counters is observed while it fills.
constexpr double kLookAgain = 5.0;
// Seconds of work that are rounding errors: a clock of seconds since 1970 has steps of 2.4e-7.
constexpr double kNoWork = 1e-6;

tl::unexpected<RunExit> never_started(std::string why) {
  return tl::unexpected(RunExit{.end = RunEnd::NeverStarted, .detail = std::move(why)});
}

}  // namespace

SimulatedExecutor::SimulatedExecutor(WorkSource work,
                                     const ClusterSpec& cluster,
                                     const InterferenceModel& interference,
                                     Clock clock,
                                     const Options& options)
    : work_(std::move(work)),
      cluster_(cluster),
      model_(interference),
      clock_(std::move(clock)),
      options_(options),
      interference_(interference.bind({})),
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
  schedule(now_s_ + delay, Step::Begin, index);
  return {};
}

void SimulatedExecutor::stop(RunId run, StopMode /*mode*/) {
  catch_up();
  const auto found = by_job_.find(run.job);
  if (found != by_job_.end() && running_[found->second].id == run) {
    finish(found->second, {.end = RunEnd::Cancelled, .at_s = now_s_});
  }
}

void SimulatedExecutor::pause(RunId run) {
  catch_up();
  const auto found = by_job_.find(run.job);
  if (found == by_job_.end() || running_[found->second].id != run) {
    return;
  }
  Running& paused = running_[found->second];
  if (!paused.active) {
    return;
  }
  settle(paused);
  paused.active = false;
  paused.speed = 0.0;
  regroup(paused.gpus);
}

void SimulatedExecutor::resume(RunId run) {
  catch_up();
  const auto found = by_job_.find(run.job);
  if (found == by_job_.end() || running_[found->second].id != run) {
    return;
  }
  Running& resumed = running_[found->second];
  if (resumed.active || resumed.memory_bytes == 0) {
    return;
  }
  resumed.active = true;
  resumed.since_s = now_s_;
  regroup(resumed.gpus);
}

std::vector<RunReport> SimulatedExecutor::take_reports() {
  catch_up();
  return std::exchange(reports_, {});
}

Result<FoundRun> SimulatedExecutor::find(const LaunchSpec& spec) {
  const auto found = by_job_.find(spec.run.job);
  if (found != by_job_.end() && running_[found->second].id == spec.run) {
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
  if (options_.watch_pressure) {
    for (const unsigned gpu : changed_) {
      if (gpus_[gpu].unsettled_until_s > now_s_) {
        next = std::min(next.value_or(now_s_ + kLookAgain), now_s_ + kLookAgain);
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
}

void SimulatedExecutor::handle(const Event& event) {
  const SimulatedWork& work = running_[event.run].work;
  switch (event.step) {
    case Step::Begin:
      begin(event.run);
      break;
    case Step::Grow:
      grow(event.run, work.early_bytes);
      break;
    case Step::LateGrowth:
      grow(event.run, work.peak_bytes);
      break;
    case Step::LookAgain:
      std::ranges::for_each(running_[event.run].gpus, [this](unsigned gpu) { mark(gpu); });
      break;
    case Step::Finish: {
      Running& run = running_[event.run];
      settle(run);
      if (run.done_s + kNoWork >= work.solo_s) {
        finish(event.run, {.end = RunEnd::Succeeded, .code = 0, .at_s = now_s_});
      }
      break;
    }
  }
}

void SimulatedExecutor::begin(std::size_t index) {
  Running& run = running_[index];
  const SimulatedWork& work = run.work;
  run.active = true;
  run.since_s = now_s_;
  reports_.push_back({.kind = RunReport::Kind::Running, .run = run.id});
  grow(index, work.early_bytes / 2);
  if (run.over) {
    return;
  }
  schedule(now_s_ + options_.constants.growth_s, Step::Grow, index);
  const bool late = work.peak_bytes > work.early_bytes;
  if (late) {
    schedule(now_s_ + options_.constants.late_growth_s, Step::LateGrowth, index);
  }
  const double grown = late ? options_.constants.late_growth_s : options_.constants.growth_s;
  schedule(now_s_ + grown + options_.look_again_s, Step::LookAgain, index);
  regroup(run.gpus);
}

// A run that requests more than is left ends, whichever run holds the rest.
void SimulatedExecutor::grow(std::size_t index, std::uint64_t bytes) {
  Running& run = running_[index];
  const std::uint64_t more = bytes - std::min(bytes, run.memory_bytes);
  const std::uint64_t capacity =
      cluster_.memory_bytes - std::min(cluster_.memory_bytes, options_.constants.driver_bytes);
  for (const unsigned gpu : run.gpus) {
    if (gpus_[gpu].memory_bytes + more > capacity) {
      finish(index,
             {.end = RunEnd::OutOfMemory,
              .code = 1,
              .detail = fmt::format("out of memory: tried to allocate {} MiB", more / kMebibyte),
              .wanted_bytes = more,
              .held_bytes = run.memory_bytes,
              .at_s = now_s_});
      return;
    }
  }
  run.memory_bytes += more;
  for (const unsigned gpu : run.gpus) {
    gpus_[gpu].memory_bytes += more;
    mark(gpu);
  }
}

void SimulatedExecutor::finish(std::size_t index, RunExit exit) {
  Running& run = running_[index];
  run.over = true;
  ++run.version;
  if (options_.keep_runs) {
    history_[run.history].ended_s = now_s_;
    history_[run.history].end = exit.end;
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
