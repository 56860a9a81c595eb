#include "simulate/simulation.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text/names.hpp"
#include "simulate/draws.hpp"
#include "simulate/outcome.hpp"

namespace carpool::simulate {
namespace {

struct NamedSource {
  std::string_view name;
  MemorySource source;
};
constexpr std::array kSources = {NamedSource{"none", MemorySource::None},
                                 NamedSource{"told", MemorySource::Told},
                                 NamedSource{"gpumemnet", MemorySource::GpuMemNet},
                                 NamedSource{"horus", MemorySource::Horus},
                                 NamedSource{"faketensor", MemorySource::FakeTensor}};

// A turn of the draws that no attempt uses.
constexpr std::uint64_t kRuntimeTurn = ~std::uint64_t{0};
constexpr std::size_t kEndedRecords = 1000;
constexpr unsigned kManyFailures = 1000;

// A simulation needs no events.
class NullJournal final : public JobJournal {
 public:
  Result<void> append(std::span<JobEvent> events) override {
    for (JobEvent& event : events) {
      event.sequence = ++last_;
    }
    return {};
  }
  Result<void> replay(const std::function<void(const JobEvent&)>& /*each*/) const override {
    return {};
  }

 private:
  std::int64_t last_ = 0;
};

std::optional<std::uint64_t> stated_memory(const TraceJob& job, MemorySource source) {
  switch (source) {
    case MemorySource::None:
      return std::nullopt;
    case MemorySource::Told:
      return job.peak_bytes;
    case MemorySource::Horus:
      return job.horus_bytes;
    case MemorySource::FakeTensor:
      return job.faketensor_bytes;
    case MemorySource::GpuMemNet:
      return job.gpumemnet_bytes;
  }
  return std::nullopt;
}

JobSpec job_spec(const Trace& trace,
                 std::size_t index,
                 const ClusterSpec& cluster,
                 const SimulationSettings& settings) {
  const TraceJob& job = trace.jobs[index];
  JobSpec spec{
      .name = job.workload, .argv = {job.workload}, .gpus = job.gpus, .workload = job.workload};
  if (const auto memory = stated_memory(job, settings.memory)) {
    // An estimate above the memory of a GPU requests all of it.
    spec.mem_bytes = std::clamp<std::uint64_t>(*memory, kMebibyte, cluster.memory_bytes);
  }
  if (settings.runtime_error) {
    const double error = 2.0 * draw_uniform(settings.seed, index, kRuntimeTurn) - 1.0;
    spec.runtime_s = job.solo_s * std::max(1.0 + error * *settings.runtime_error, 0.01);
  }
  return spec;
}

schedule::SchedulerSettings scheduler_settings(const SimulationSettings& settings,
                                               std::size_t jobs) {
  schedule::SchedulerSettings made{.order = settings.order, .recovery = settings.recovery};
  made.use_history = settings.use_history;
  made.depth = settings.policy_settings.depth;
  made.backfill = settings.policy_settings.backfill;
  made.keep_ended = kEndedRecords;
  made.max_queued_per_user = static_cast<unsigned>(std::max<std::size_t>(jobs, 1) + 1);
  if (settings.recovery != schedule::RecoveryRule::Reserve) {
    made.max_out_of_memory = kManyFailures;  // the published systems never give up
  }
  return made;
}

// Every attempt of such a job runs out of memory.
bool fits_no_gpu(const TraceJob& job, const ClusterSpec& cluster, const SimulationConstants& of) {
  return job.peak_bytes + of.driver_bytes > cluster.memory_bytes;
}

// The event loop around the scheduler.
class Replay {
 public:
  Replay(const Trace& trace,
         const ClusterSpec& cluster,
         const SimulationSettings& settings,
         schedule::Scheduler& scheduler,
         SimulatedExecutor& executor,
         double& clock_s)
      : trace_(trace),
        cluster_(cluster),
        settings_(settings),
        scheduler_(scheduler),
        executor_(executor),
        clock_s_(clock_s) {
    scheduler_.on_event([this](const JobEvent& event) {
      closed_ += std::holds_alternative<JobClosed>(event.what) ? 1 : 0;
      if (std::holds_alternative<JobRequeued>(event.what) && would_fail_again(event.job)) {
        hopeless_.push_back(event.job);
      }
    });
  }

  Result<void> run(const std::function<void(std::size_t, std::size_t)>& progress) {
    constexpr std::size_t kProgressEvery = 500;
    std::size_t last_progress = 0;
    clock_s_ = trace_.jobs.front().submit_s;
    while (closed_ < trace_.jobs.size()) {
      if (auto done = step(clock_s_); !done) {
        return done;
      }
      if (progress && closed_ >= last_progress + kProgressEvery) {
        last_progress = closed_;
        progress(closed_, trace_.jobs.size());
      }
      const auto next = next_s();
      if (!next && closed_ < trace_.jobs.size()) {
        return stuck();
      }
      clock_s_ = std::max(clock_s_, next.value_or(clock_s_));
    }
    return {};
  }

 private:
  Result<void> step(double now) {
    for (; next_job_ < trace_.jobs.size() && trace_.jobs[next_job_].submit_s <= now; ++next_job_) {
      const JobOwner owner{.uid = trace_.jobs[next_job_].uid, .user = "simulated"};
      const auto id =
          scheduler_.submit(job_spec(trace_, next_job_, cluster_, settings_), owner, now);
      if (!id) {
        return tl::unexpected(Error{id.error().code,
                                    fmt::format("{}: job {}, {}: {}",
                                                trace_.name,
                                                next_job_ + 1,
                                                trace_.jobs[next_job_].workload,
                                                id.error().message)});
      }
    }
    for (const GpuObservation& seen : executor_.take_observations()) {
      scheduler_.observe(seen, now);
    }
    scheduler_.step(now);
    if (auto flushed = scheduler_.flush(); !flushed || hopeless_.empty()) {
      return flushed;
    }
    for (const JobId job : std::exchange(hopeless_, {})) {
      if (auto given_up = scheduler_.cancel(job, "the simulator", now); !given_up) {
        return given_up;
      }
    }
    return scheduler_.flush();
  }

  // The published recovery rules never give up. Ours sees that a job fails with a whole GPU.
  [[nodiscard]] bool would_fail_again(JobId job) const {
    return settings_.recovery != schedule::RecoveryRule::Reserve &&
           fits_no_gpu(
               trace_.jobs[static_cast<std::size_t>(job) - 1], cluster_, settings_.constants);
  }

  [[nodiscard]] std::optional<double> next_s() const {
    std::optional<double> next = executor_.next_s();
    const auto consider = [&](double when) { next = std::min(next.value_or(when), when); };
    if (next_job_ < trace_.jobs.size()) {
      consider(trace_.jobs[next_job_].submit_s);
    }
    if (const auto wakeup = scheduler_.next_wakeup_s()) {
      consider(*wakeup);
    }
    return next;
  }

  [[nodiscard]] Result<void> stuck() const {
    for (const JobId id : scheduler_.jobs()) {
      if (const auto why = scheduler_.why_waiting(id)) {
        const std::size_t index = static_cast<std::size_t>(id) - 1;
        return invalid_input(fmt::format("{}: {} jobs never start on {}; the first, {}: {}",
                                         trace_.name,
                                         scheduler_.waiting(),
                                         cluster_.name,
                                         trace_.jobs[index].workload,
                                         why->reason));
      }
    }
    return fail(ErrorCode::Internal,
                fmt::format("{}: {} of {} jobs never end on {}: they stand still",
                            trace_.name,
                            trace_.jobs.size() - closed_,
                            trace_.jobs.size(),
                            cluster_.name));
  }

  const Trace& trace_;
  const ClusterSpec& cluster_;
  const SimulationSettings& settings_;
  schedule::Scheduler& scheduler_;
  SimulatedExecutor& executor_;
  double& clock_s_;  // of the executor
  std::size_t next_job_ = 0;
  std::size_t closed_ = 0;
  std::vector<JobId> hopeless_;
};

}  // namespace

Result<MemorySource> memory_source(std::string_view name) {
  return find_named(std::span<const NamedSource>(kSources), "estimator", name)
      .map([](const NamedSource* found) { return found->source; });
}

std::string_view memory_source_name(MemorySource source) {
  for (const NamedSource& known : kSources) {
    if (known.source == source) {
      return known.name;
    }
  }
  return "";
}

bool looks_at_pressure(std::string_view policy, const policy::PolicySettings& settings) {
  return settings.sm_active_limit || policy == "lug" || policy == "mug";
}

Result<SimulationResult> simulate_with(
    const Belief& belief,
    const Trace& trace,
    const ClusterSpec& cluster,
    const InterferenceModel& truth,
    const SimulationSettings& settings,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  const auto policy = policy::make_placement_policy(settings.policy, settings.policy_settings);
  if (!policy) {
    return tl::unexpected(policy.error());
  }
  const Trace possible = with_enough_gpus(trace, cluster);
  double clock_s = 0.0;
  SimulatedExecutor executor(
      work_of_trace(possible, truth),
      cluster,
      truth,
      [&clock_s] { return clock_s; },
      {.constants = settings.constants,
       .seed = settings.seed,
       .watch_pressure = looks_at_pressure(settings.policy, settings.policy_settings),
       .rates = settings.rates,
       .keep_moments = settings.keep_moments});
  NullJournal journal;
  schedule::Scheduler scheduler(scheduler_settings(settings, trace.jobs.size()),
                                empty_gpus(cluster),
                                **policy,
                                *belief.model,
                                journal,
                                executor,
                                belief.learner);
  if (!possible.jobs.empty()) {
    if (auto done = Replay(possible, cluster, settings, scheduler, executor, clock_s).run(progress);
        !done) {
      return tl::unexpected(done.error());
    }
  }
  return summarise(trace, cluster, executor);
}

Result<SimulationResult> simulate(const Trace& trace,
                                  const ClusterSpec& cluster,
                                  const InterferenceModel& truth,
                                  const SimulationSettings& settings,
                                  const std::function<void(std::size_t, std::size_t)>& progress) {
  return simulate_with(
      make_belief(settings.belief, truth), trace, cluster, truth, settings, progress);
}

}  // namespace carpool::simulate
