#include "schedule/advice/dry_run.hpp"

#include <algorithm>
#include <utility>

#include "schedule/advice/belief_words.hpp"

namespace carpool::schedule {
namespace {

// The speeds of the residents of one GPU before and after the job starts there.
void add_neighbours(const Scheduler& scheduler, const GpuView& gpu, DryRun& out) {
  std::vector<InterferenceMember> group = computing_members(gpu);
  const auto before = scheduler.interference().forecast(group);
  group.push_back(
      {.workload = out.arrival.job.workload, .thread_limit = out.arrival.starts->thread_limit});
  const auto after = scheduler.interference().forecast(group);
  std::size_t next = 0;
  for (const Resident& resident : gpu.residents) {
    Neighbour neighbour{.job = resident.job, .paused = resident.phase == ResidentPhase::Paused};
    if (!neighbour.paused) {
      neighbour.now = before.at(next);
      neighbour.then = after.at(next++);
    }
    out.neighbours.push_back(neighbour);
  }
  if (group.size() > 1) {
    out.speed = after.back();
  }
}

std::optional<double> remaining_s(const Scheduler& scheduler, JobId job) {
  for (const GpuView& gpu : scheduler.gpus()) {
    const auto found = std::ranges::find(gpu.residents, job, &Resident::job);
    if (found != gpu.residents.end()) {
      return found->remaining_s;
    }
  }
  return std::nullopt;
}

// Of the jobs that this one comes after, the last to end; empty: there is none, or of one it is not
// known.
std::optional<StartingChange> end_of_others(const Scheduler& scheduler, const JobSpec& spec) {
  std::optional<StartingChange> last;
  for (const std::vector<JobId>* jobs : {&spec.after, &spec.after_any, &spec.after_not_ok}) {
    for (const JobId other : *jobs) {
      const JobRecord* record = scheduler.find(other);
      if (record == nullptr || record->over()) {
        continue;
      }
      const auto in_s = remaining_s(scheduler, other);
      if (!in_s) {
        return std::nullopt;
      }
      if (!last || *in_s > *last->wait_s) {
        last = wait_until_ends(other, *in_s);
      }
    }
  }
  return last;
}

}  // namespace

Result<DryRun> dry_run(const Scheduler& scheduler,
                       const JobSpec& spec,
                       const JobOwner& owner,
                       bool hold) {
  Result<Arrival> arrival = scheduler.arrival(spec, owner, hold);
  if (!arrival) {
    return tl::unexpected(arrival.error());
  }
  DryRun out{.arrival = std::move(*arrival)};
  const QueuedJob& job = out.arrival.job;
  out.memory = memory_words(job, nullptr, nullptr);
  out.activity = activity_words(scheduler.interference(), job.workload);
  if (out.arrival.starts) {
    // Jobs on several GPUs have them for themselves.
    const unsigned first = out.arrival.starts->gpus.front();
    const auto gpu = std::ranges::find(scheduler.gpus(), first, &GpuView::index);
    add_neighbours(scheduler, *gpu, out);
  } else if (out.arrival.considered) {
    out.candidates = candidate_gpus(scheduler, job);
    out.changes = starting_changes(scheduler, job);
  } else if (auto end = end_of_others(scheduler, spec); end && out.arrival.waits && !hold) {
    out.changes.push_back(std::move(*end));
  }
  return out;
}

}  // namespace carpool::schedule
