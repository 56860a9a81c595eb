// Who starts: what the policy is asked, and what is done with its answer.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "schedule/scheduler_state.hpp"

namespace carpool::schedule {
namespace {

// Another look at the queue is worth it while so much of what was looked at starts.
constexpr std::size_t kWorthAnotherLook = 4;  // one in so many

constexpr double kForEver = std::numeric_limits<double>::infinity();

// When the last of those on it is expected to end.
double free_after_s(const GpuView& gpu) {
  double after = 0.0;
  for (const Resident& resident : gpu.residents) {
    after = std::max(after, resident.remaining_s.value_or(kForEver));
  }
  return after;
}

}  // namespace

void SchedulerState::decide(double at_s) {
  if (draining) {
    return;
  }
  const auto impatient_s = line.next_impatient_s(decided_s);
  if ((ask_again_s && *ask_again_s <= at_s) || (impatient_s && *impatient_s <= at_s)) {
    look_at(Look::Everything);
  }
  if (look == Look::Nothing) {
    return;
  }
  decided_s = at_s;
  if (line.size() > 0) {
    if (look == Look::Newcomers && newcomers.size() <= settings.depth) {
      decide_newcomers(at_s);
    } else {
      decide_all(at_s);
    }
  }
  look = Look::Nothing;
  newcomers.clear();
}

WaitingLine::Front SchedulerState::front(std::size_t most, double at_s) {
  const double mean = settings.order == QueueOrder::Fair ? usage.mean(at_s) : 0.0;
  return line.front(most, at_s, [&](std::uint32_t uid) { return usage.weight(uid, at_s, mean); });
}

void SchedulerState::decide_all(double at_s) {
  ask_again_s.reset();
  deferrals.clear();
  std::size_t placed = 0;
  std::size_t looked = 0;
  bool more = true;
  do {
    const auto jobs = front(settings.depth, at_s);
    looked = jobs.jobs.size();
    more = line.size() > looked;
    placed = decide_front(jobs, at_s);
  } while (more && placed > 0 && placed * kWorthAnotherLook >= looked);
}

// Those who were refused before would be refused again: nothing has changed on the GPUs. Where
// nobody may pass one that must wait, a newcomer matters only if it is the first; in a long queue,
// only if it is among those who are looked at.
void SchedulerState::decide_newcomers(double at_s) {
  std::ranges::sort(newcomers);
  const auto came = [&](JobId job) { return std::ranges::binary_search(newcomers, job); };
  if (!settings.backfill) {
    if (came(front(1, at_s).jobs.front())) {
      decide_all(at_s);
    }
    return;
  }
  std::vector<JobId> jobs = front(settings.depth, at_s).jobs;
  std::erase_if(jobs, [&](JobId job) { return !came(job); });
  (void)ask_beside_kept(jobs, at_s);
}

// Jobs without patience left come first, one by one. The first of them that must wait for others to
// end gets GPUs kept for it; everybody else shares what is left.
std::size_t SchedulerState::decide_front(const WaitingLine::Front& looked, double at_s) {
  kept.clear();
  kept_for = 0;
  std::size_t placed = 0;
  std::size_t next = 0;
  for (; next < looked.impatient && kept_for == 0; ++next) {
    const std::size_t started = ask_policy(std::span(looked.jobs).subspan(next, 1), at_s);
    placed += started;
    if (started == 0) {
      keep_gpus_for(living.at(looked.jobs[next]), at_s);
    }
  }
  return placed + ask_beside_kept(std::span(looked.jobs).subspan(next), at_s);
}

// The GPUs that are expected to be free soonest run empty, and then every policy puts it there.
// Where they are empty already and the policy still does not want it, nothing is gained by keeping
// them.
void SchedulerState::keep_gpus_for(const Live& job, double at_s) {
  std::vector<std::pair<double, unsigned>> fit;
  bool occupied = false;
  for (const GpuView& view : occupancy.views()) {
    if (view.unusable.empty() && !view.foreign &&
        view.memory_bytes >= job.view.need_bytes.value_or(0)) {
      fit.emplace_back(free_after_s(view), view.index);
    }
  }
  if (fit.size() < job.view.gpus) {
    return;
  }
  std::ranges::sort(fit);
  fit.resize(job.view.gpus);
  for (const auto& [after_s, gpu] : fit) {
    occupied = occupied || !occupancy.find(gpu)->residents.empty();
  }
  if (!occupied) {
    return;
  }
  kept_for = job.record->id;
  kept_until_s = at_s + fit.back().first;
  for (const auto& [after_s, gpu] : fit) {
    kept.push_back(gpu);
  }
}

std::size_t SchedulerState::ask_beside_kept(std::span<const JobId> jobs, double at_s) {
  if (kept.empty()) {
    return ask_policy(jobs, at_s);
  }
  const std::string why = fmt::format("kept for job {}, which has waited too long", kept_for);
  for (const unsigned gpu : kept) {
    occupancy.withhold(gpu, why);
  }
  std::size_t placed = ask_policy(jobs, at_s);
  for (const unsigned gpu : kept) {
    occupancy.give_back(gpu);
  }
  // Until they are free, jobs that are over by then may use them, even at half their speed.
  std::vector<JobId> brief;
  for (const JobId id : jobs) {
    const Live* job = live(id);
    if (line.contains(id) && job->view.runtime_s &&
        at_s + 2.0 * *job->view.runtime_s <= kept_until_s && kept_until_s < kForEver) {
      brief.push_back(id);
    }
  }
  return placed + ask_policy(brief, at_s);
}

std::size_t SchedulerState::ask_policy(std::span<const JobId> jobs, double at_s) {
  std::vector<const QueuedJob*> queue;
  queue.reserve(jobs.size());
  for (const JobId id : jobs) {
    Live& job = living.at(id);
    update_view(job, at_s);
    queue.push_back(&job.view);
  }
  if (queue.empty()) {
    return 0;
  }
  occupancy.refresh(at_s);
  const PlacementDecision decision =
      policy.decide({.now_s = at_s, .gpus = occupancy.views(), .queue = queue}, interference);
  if (decision.ask_again_s) {
    const double then = at_s + std::max(*decision.ask_again_s, 0.0);
    ask_again_s = std::min(ask_again_s.value_or(then), then);
  }
  for (const Deferral& deferral : decision.defer) {
    deferrals.insert_or_assign(deferral.job, deferral);
  }
  return static_cast<std::size_t>(std::ranges::count_if(
      decision.place, [&](const Placement& placement) { return start(placement, at_s); }));
}

// A policy is not trusted with what only the scheduler knows.
bool SchedulerState::start(const Placement& placement, double at_s) {
  Live* job = live(placement.job);
  if (job == nullptr || !line.contains(placement.job)) {
    return false;
  }
  auto possible = occupancy.check(placement.gpus);
  if (possible && placement.gpus.size() != job->view.gpus) {
    possible = invalid_input(
        fmt::format("{} GPUs were chosen for a job on {}", placement.gpus.size(), job->view.gpus));
  }
  if (!possible) {
    deferrals.insert_or_assign(placement.job,
                               Deferral{.job = placement.job,
                                        .constraint = Constraint::NoGpu,
                                        .reason = possible.error().message});
    return false;
  }
  const auto attempt = static_cast<unsigned>(job->record->attempts.size()) + 1;
  make(placement.job,
       JobStarted{.attempt = attempt,
                  .gpus = placement.gpus,
                  .mechanism = placement.mechanism,
                  .thread_limit = placement.thread_limit,
                  .reserved_bytes = placement.reserve_bytes,
                  .predicted_progress = placement.progress,
                  .reason = placement.reason},
       at_s);
  orders.push_back({.kind = Order::Kind::Launch, .run = {placement.job, attempt}});
  return true;
}

LaunchSpec SchedulerState::launch_spec(const JobRecord& job) const {
  const JobStarted& start = job.attempts.back().start;
  const bool mps = start.mechanism == ShareMechanism::Mps;
  LaunchSpec spec{.run = {job.id, start.attempt},
                  .job = job.spec,
                  .owner = job.owner,
                  .gpu_indices = start.gpus,
                  .mechanism = start.mechanism,
                  .thread_limit = start.thread_limit,
                  .low_priority = mps && job.spec.job_class == JobClass::BestEffort,
                  .memory_limit_bytes = job.spec.mem_limit_bytes};
  for (const unsigned gpu : start.gpus) {
    const GpuView* view = occupancy.find(gpu);
    spec.gpu_uuids.push_back(view == nullptr ? std::string() : view->uuid);
  }
  return spec;
}

}  // namespace carpool::schedule
