#include "schedule/explain.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "schedule/advice/belief_words.hpp"

namespace carpool::schedule {
namespace {

// Smaller amounts of memory are tried in steps of this.
constexpr std::uint64_t kStep = std::uint64_t{1} << 30U;
// At most this many GPUs are listed.
constexpr std::size_t kMostCandidates = 64;

// The policy's answer to a queue of one job.
struct Answer {
  bool starts = false;
  Placement placement{};
  Deferral deferral{};
};

class Explainer {
 public:
  Explainer(const Scheduler& scheduler, const QueuedJob& job) : scheduler_(scheduler), job_(job) {}

  [[nodiscard]] std::vector<CandidateGpu> candidates() const {
    std::vector<CandidateGpu> out;
    const auto gpus = scheduler_.gpus().first(std::min(scheduler_.gpus().size(), kMostCandidates));
    out.reserve(gpus.size());
    for (const GpuView& gpu : gpus) {
      out.push_back(candidate(gpu));
    }
    return out;
  }

  [[nodiscard]] std::vector<StartingChange> changes() const {
    const auto gpus = scheduler_.gpus();
    const Answer now = ask(gpus, job_);
    if (now.starts) {
      return {{.kind = StartingChange::Kind::Order,
               .words = "submit it with a higher priority: there is room for it now"}};
    }
    std::vector<StartingChange> out;
    if (now.deferral.constraint == Constraint::Machine) {
      return out;  // until other jobs have started up: a moment, which no change shortens
    }
    less_memory(out);
    QueuedJob shared = job_;
    shared.exclusive = false;
    if (job_.exclusive && ask(gpus, shared).starts) {
      out.push_back({.kind = StartingChange::Kind::NotExclusive,
                     .words = "submit it without --exclusive: it can share a GPU now"});
    }
    fewer_gpus(out);
    waiting(out);
    return out;
  }

 private:
  [[nodiscard]] Answer ask(std::span<const GpuView> gpus, const QueuedJob& job) const {
    const QueuedJob* queue[] = {&job};
    PlacementDecision decision = scheduler_.what_if(gpus, queue);
    Answer answer;
    if (!decision.place.empty()) {
      answer.starts = true;
      answer.placement = std::move(decision.place.front());
    } else if (!decision.defer.empty()) {
      answer.deferral = std::move(decision.defer.front());
    }
    return answer;
  }

  [[nodiscard]] CandidateGpu candidate(const GpuView& gpu) const {
    CandidateGpu out{
        .gpu = gpu.index, .memory_bytes = gpu.memory_bytes, .free_bytes = gpu.free_bytes()};
    for (const Resident& resident : gpu.residents) {
      out.residents.push_back(resident.job);
    }
    std::vector<InterferenceMember> group = computing_members(gpu);
    group.push_back({.workload = job_.workload});
    const bool apart = std::ranges::any_of(gpu.residents, [](const Resident& resident) {
      return resident.mechanism == ShareMechanism::None;
    });
    const bool alone = scheduler_.runs_alone(job_);
    if (group.size() > 1 && !apart && !alone) {
      const auto forecasts = scheduler_.interference().forecast(group);
      out.forecast = forecasts.back();
      for (std::size_t i = 0; i + 1 < forecasts.size(); ++i) {
        out.worst_neighbour = std::min(out.worst_neighbour.value_or(1.0), forecasts[i].progress);
      }
    }
    if (!apart && !alone) {
      out.latencies = latencies_with(scheduler_.interference(), gpu, job_);
    }
    QueuedJob one = job_;
    one.gpus = 1;  // whether this GPU could be one of them
    one.exclusive = alone;
    const Answer answer = ask({&gpu, 1}, one);
    out.takes_it = answer.starts;
    if (alone && !gpu.residents.empty()) {
      out.reason = "not empty, and the job shares with none";
    } else {
      out.reason = answer.starts ? answer.placement.reason : answer.deferral.reason;
    }
    return out;
  }

  // The most memory with which it starts, by bisection: less never starts later than more.
  void less_memory(std::vector<StartingChange>& out) const {
    if (job_.need_bytes && *job_.need_bytes <= kStep) {
      return;
    }
    const auto starts = [&](std::uint64_t steps) {
      QueuedJob smaller = job_;
      smaller.need_bytes = steps * kStep;
      smaller.need_basis = NeedBasis::Told;
      return ask(scheduler_.gpus(), smaller).starts;
    };
    std::uint64_t fits = 0;
    std::uint64_t too_much = (job_.need_bytes.value_or(largest_gpu()) + kStep - 1) / kStep;
    if (!starts(1)) {
      return;
    }
    fits = 1;
    while (too_much - fits > 1) {
      const std::uint64_t middle = (fits + too_much) / 2;
      (starts(middle) ? fits : too_much) = middle;
    }
    out.push_back({.kind = StartingChange::Kind::LessMemory,
                   .words = job_.need_bytes
                                ? fmt::format("request {} less memory: {} instead of {}",
                                              gib_text(*job_.need_bytes - fits * kStep),
                                              gib_text(fits * kStep),
                                              gib_text(*job_.need_bytes))
                                : fmt::format("state its memory, if {} are enough: it starts now",
                                              gib_text(fits * kStep)),
                   .need_bytes = fits * kStep});
  }

  [[nodiscard]] std::uint64_t largest_gpu() const {
    std::uint64_t most = kStep;
    for (const GpuView& gpu : scheduler_.gpus()) {
      most = std::max(most, gpu.memory_bytes);
    }
    return most;
  }

  void fewer_gpus(std::vector<StartingChange>& out) const {
    for (unsigned gpus = job_.gpus; gpus-- > 1;) {
      QueuedJob narrower = job_;
      narrower.gpus = gpus;
      if (ask(scheduler_.gpus(), narrower).starts) {
        out.push_back({.kind = StartingChange::Kind::FewerGpus,
                       .words = fmt::format("request {} instead of {} GPUs", gpus, job_.gpus),
                       .gpus = gpus});
        return;
      }
    }
  }

  // Running jobs end one after the other, as far as their run times are known.
  void waiting(std::vector<StartingChange>& out) const {
    std::vector<std::pair<double, JobId>> ends;
    for (const GpuView& gpu : scheduler_.gpus()) {
      for (const Resident& resident : gpu.residents) {
        if (resident.remaining_s) {
          ends.emplace_back(*resident.remaining_s, resident.job);
        }
      }
    }
    std::ranges::sort(ends);
    std::vector<GpuView> later(scheduler_.gpus().begin(), scheduler_.gpus().end());
    for (const auto& [in_s, job] : ends) {
      for (GpuView& gpu : later) {
        const auto gone = std::ranges::find(gpu.residents, job, &Resident::job);
        if (gone != gpu.residents.end()) {
          gpu.used_bytes -= std::min(gpu.used_bytes, gone->used_bytes);
          gpu.residents.erase(gone);
        }
      }
      if (ask(later, job_).starts) {
        out.push_back(wait_until_ends(job, in_s));
        return;
      }
    }
  }

  const Scheduler& scheduler_;
  const QueuedJob& job_;
};

// What is believed of a job, and of the group that it is part of.
void believed(const Scheduler& scheduler, const JobRecord& record, Explanation& out) {
  const Resident* resident = nullptr;
  for (const GpuView& gpu : scheduler.gpus()) {
    const auto found = std::ranges::find(gpu.residents, record.id, &Resident::job);
    if (found == gpu.residents.end()) {
      continue;
    }
    resident = &*found;
    const std::vector<InterferenceMember> group = computing_members(gpu);
    if (found->phase != ResidentPhase::Paused && group.size() > 1) {
      const auto before = std::count_if(gpu.residents.begin(), found, [](const Resident& other) {
        return other.phase != ResidentPhase::Paused;
      });
      out.progress = scheduler.interference().forecast(group).at(static_cast<std::size_t>(before));
    }
    break;
  }
  if (const auto view = scheduler.last_view(record.id)) {
    out.memory = memory_words(*view, record.running(), resident);
    if (const std::string how = scheduler.cap_escape(record.id); !how.empty()) {
      out.memory += fmt::format("; its cap is not enforced: {}", how);
    }
    out.activity = activity_words(scheduler.interference(), view->workload);
    out.belief = scheduler.interference().belief(view->workload);
    if (view->goal.slo_ms > 0.0) {
      out.goal = view->goal;
      out.watched = scheduler.interference().watched_latency(record.id);
      out.latency = promise_words(scheduler.interference(), *view, out.watched);
    }
    const auto stated =
        std::ranges::find(out.changes, StartingChange::Kind::LessMemory, &StartingChange::kind);
    out.lesson = lesson_of(
        {.job = record,
         .view = *view,
         .resident = resident,
         .interference = scheduler.interference(),
         .startable_bytes = stated == out.changes.end() ? std::nullopt : stated->need_bytes});
  }
}

std::string summary_of(const Explanation& explanation, const JobRecord& record) {
  if (explanation.binding) {
    return fmt::format("Job {} is waiting: {}", record.id, explanation.binding->reason);
  }
  const std::string_view what = record.state == JobState::Succeeded   ? "succeeded"
                                : record.state == JobState::Failed    ? "failed"
                                : record.state == JobState::Cancelled ? "was cancelled"
                                : record.state == JobState::Stopping  ? "is stopping"
                                                                      : "is running";
  if (record.state == JobState::Running && record.running()->pause) {
    return fmt::format("Job {} is paused: {}", record.id, record.running()->pause->reason);
  }
  const bool why = record.over() && !record.reason.empty();
  return fmt::format("Job {} {}{}{}", record.id, what, why ? ": " : "", why ? record.reason : "");
}

}  // namespace

std::vector<InterferenceMember> computing_members(const GpuView& gpu) {
  std::vector<InterferenceMember> group;
  for (const Resident& resident : gpu.residents) {
    if (resident.phase != ResidentPhase::Paused) {
      group.push_back({.workload = resident.workload, .thread_limit = resident.thread_limit});
    }
  }
  return group;
}

StartingChange wait_until_ends(JobId job, double in_s) {
  return {.kind = StartingChange::Kind::Wait,
          .words = fmt::format("wait until job {} ends, in about {:.0f} s", job, in_s),
          .wait_s = in_s,
          .until_ends = job};
}

std::vector<CandidateGpu> candidate_gpus(const Scheduler& scheduler, const QueuedJob& job) {
  return Explainer(scheduler, job).candidates();
}

std::vector<StartingChange> starting_changes(const Scheduler& scheduler, const QueuedJob& job) {
  return Explainer(scheduler, job).changes();
}

Explanation explain(const Scheduler& scheduler, const JobRecord& record) {
  const JobId job = record.id;
  Explanation out{.job = job, .binding = scheduler.why_waiting(job)};
  if (!record.attempts.empty()) {
    out.placed = record.attempts.back().start;
  }
  if (const auto queued = scheduler.queued(job)) {
    out.candidates = candidate_gpus(scheduler, *queued);
    if (scheduler.may_start(job) && scheduler.why_no_starts().empty()) {
      out.changes = starting_changes(scheduler, *queued);
    }
  }
  if (!record.over()) {
    believed(scheduler, record, out);
  }
  out.summary = summary_of(out, record);
  return out;
}

Result<Explanation> explain(const Scheduler& scheduler, JobId job) {
  const JobRecord* record = scheduler.find(job);
  if (record == nullptr) {
    return not_found(fmt::format("there is no job {}", job));
  }
  return explain(scheduler, *record);
}

}  // namespace carpool::schedule
