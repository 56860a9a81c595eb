#include "schedule/planner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.hpp"
#include "schedule/placement_guard.hpp"

namespace carpool::schedule {
namespace {

// The queue is looked at again while at least one in this many of the jobs looked at started.
constexpr std::size_t kWorthAnotherLook = 4;

}  // namespace

Planner::Planner(const SchedulerSettings& settings,
                 const PlacementPolicy& policy,
                 const InterferenceModel& interference,
                 JobTable& jobs,
                 Backlog& backlog,
                 const FairUsage& usage,
                 Occupancy& occupancy,
                 TroublePauses& pauses,
                 RunControl& runs,
                 bool learns)
    : settings_(settings),
      policy_(policy),
      interference_(interference),
      jobs_(jobs),
      backlog_(backlog),
      usage_(usage),
      occupancy_(occupancy),
      pauses_(pauses),
      runs_(runs),
      learns_(learns),
      looks_(occupancy.views().size()),
      turns_(occupancy.views().size()) {}

void Planner::set_draining(bool draining, std::string since) {
  draining_ = draining;
  drained_since_ = std::move(since);
  backlog_.look_at(Look::Everything);
}

void Planner::set_closed(std::string why) {
  closed_ = std::move(why);
  backlog_.look_at(Look::Everything);
}

void Planner::decide(double at_s) {
  backlog_.enter_due(at_s);
  note_groups(at_s);
  look_if_due(at_s);
  if (backlog_.look() == Look::Nothing) {
    return;
  }
  decided_s_ = at_s;
  held_back_ = false;
  const std::uint64_t started_before = started_;
  const std::uint64_t asked_before = questions_;
  const bool newcomers_only = backlog_.look() == Look::Newcomers;
  if (some_may_start()) {
    update_pauses(at_s);
    if (newcomers_only && backlog_.newcomer_count() <= settings_.depth) {
      decide_newcomers(at_s);
    } else {
      decide_all(at_s);
    }
  }
  if (!newcomers_only && questions_ == asked_before) {
    ask_about_groups(at_s);
  }
  end_pauses(at_s);
  backlog_.decided();
  if (held_back_ && started_ != started_before) {
    // An attempt tries where these jobs were to start: the policy decides again without that place.
    backlog_.look_at(Look::Everything);
  }
  note_groups(at_s);
}

WaitingLine::Front Planner::front(std::size_t most, double at_s) {
  const WaitingLine::UserWeight weight = user_weights(at_s);
  const bool some_wait = pauses_.any_of(TroubleScope::Job) || pauses_.any_of(TroubleScope::User) ||
                         pauses_.any_of(TroubleScope::Machine);
  if (!some_wait) {
    return backlog_.line().front(most, at_s, weight);
  }
  if (!pauses_.why_closed({TroubleScope::Machine, 0}, at_s).empty()) {
    return {};
  }
  // Jobs that wait for a pause to end take no place among the first.
  WaitingLine::Front all = backlog_.line().front(backlog_.line().size(), at_s, weight);
  for (std::vector<JobId>* jobs : {&all.jobs, &all.impatient}) {
    std::erase_if(*jobs, [&](JobId job) { return paused(*jobs_.live(job)); });
  }
  all.jobs.resize(std::min(all.jobs.size(), most));
  return all;
}

void Planner::decide_all(double at_s) {
  ask_again_s_.reset();
  backlog_.clear_deferrals();
  std::size_t placed = 0;
  std::size_t looked = 0;
  bool more = true;
  do {
    auto jobs = front(settings_.depth, at_s);
    looked = jobs.jobs.size();
    more = backlog_.line().size() > looked;
    placed = decide_front(std::move(jobs), at_s);
  } while (more && placed > 0 && placed * kWorthAnotherLook >= looked);
}

// Jobs that were refused before would be refused again, since nothing changed on the GPUs. Without
// backfill a newcomer matters only if it is the first; in a long queue, only if it is among the
// jobs that the policy sees.
void Planner::decide_newcomers(double at_s) {
  const std::vector<JobId> newcomers = backlog_.newcomers();
  const auto came = [&](JobId job) { return std::ranges::binary_search(newcomers, job); };
  if (!settings_.backfill) {
    const std::vector<JobId> first = front(1, at_s).jobs;
    if (!first.empty() && came(first.front())) {
      decide_all(at_s);
    }
    return;
  }
  std::vector<JobId> jobs = front(settings_.depth, at_s).jobs;
  std::erase_if(jobs, [&](JobId job) { return !came(job); });
  (void)ask_beside_reserved(jobs, at_s);
}

// If it is the turn of impatient jobs, the first of them that can start does, and the first that
// cannot gets GPUs reserved; all other jobs share the rest.
std::size_t Planner::decide_front(WaitingLine::Front looked, double at_s) {
  backlog_.reserve({});
  std::size_t placed = 0;
  for (const JobId job : looked.impatient) {
    placed = ask_policy(std::span(&job, 1), at_s);
    if (placed == 0) {
      backlog_.reserve(reservation_for(*jobs_.live(job), at_s));
    }
    if (placed > 0) {
      backlog_.line().took_turn();
    }
    if (placed > 0 || backlog_.reservation().job != 0) {
      std::erase(looked.jobs, job);
      break;
    }
  }
  return placed + ask_beside_reserved(looked.jobs, at_s);
}

// The GPUs that are expected to be empty soonest: every policy puts a job on empty GPUs. (A policy
// that reserves for the first job in its own queue, QueuePass::hold_for, waits for enough free
// memory only, since it knows its own margins.) Where they are empty already and the policy still
// refuses, a reservation does not help.
FrontReservation Planner::reservation_for(const LiveJob& job, double at_s) const {
  const auto views = occupancy_.views();
  std::vector<std::pair<double, std::size_t>> fit;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].unusable.empty() && !views[i].foreign && passes(job.view.gpu_filter, views[i]) &&
        views[i].memory_bytes >= job.view.need_bytes.value_or(0)) {
      fit.emplace_back(views[i].empty_after_s(), i);
    }
  }
  const auto soonest = soonest_free(std::move(fit), job.view.gpus);
  if (!soonest || std::ranges::all_of(soonest->gpus,
                                      [&](std::size_t i) { return views[i].residents.empty(); })) {
    return {};
  }
  FrontReservation reservation{.job = job.record->id, .until_s = at_s + soonest->after_s};
  for (const std::size_t i : soonest->gpus) {
    reservation.gpus.push_back(views[i].index);
  }
  return reservation;
}

std::size_t Planner::ask_beside_reserved(std::span<const JobId> jobs, double at_s) {
  const FrontReservation reserved = backlog_.reservation();
  if (reserved.job == 0) {
    return ask_policy(jobs, at_s);
  }
  const std::string why = reserved.words();
  for (const unsigned gpu : reserved.gpus) {
    occupancy_.withhold(gpu, why);
  }
  const std::size_t placed = ask_policy(jobs, at_s);
  for (const unsigned gpu : reserved.gpus) {
    occupancy_.give_back(gpu);
  }
  // Jobs that end before the GPUs are empty, even at half their speed, may use them.
  std::vector<JobId> brief;
  for (const JobId id : jobs) {
    const LiveJob* job = jobs_.live(id);
    if (backlog_.line().contains(id) && at_s + job->longest_s <= reserved.until_s &&
        reserved.until_s < kNoTime) {
      brief.push_back(id);
    }
  }
  return placed + ask_policy(brief, at_s);
}

std::size_t Planner::ask_policy(std::span<const JobId> jobs, double at_s) {
  return jobs.empty() ? 0 : put_question(jobs, at_s);
}

std::size_t Planner::put_question(std::span<const JobId> jobs, double at_s) {
  ++questions_;
  std::vector<const QueuedJob*> queue;
  queue.reserve(jobs.size());
  for (const JobId id : jobs) {
    LiveJob& job = *jobs_.live(id);
    backlog_.update_view(job, at_s);
    job.offered = questions_;
    queue.push_back(&job.view);
  }
  occupancy_.refresh(at_s);
  turns_.changed(occupancy_.take_changed());
  const PlacementDecision decision = policy_.decide({.now_s = at_s,
                                                     .gpus = occupancy_.views(),
                                                     .queue = queue,
                                                     .processors_idle = processors_idle_,
                                                     .turns_at = turns_.take(at_s)},
                                                    interference_);
  for (const TurnQuestion& again : decision.turns_again) {
    if (again.place < occupancy_.views().size() && std::isfinite(again.after_s)) {
      turns_.ask_again(again.place, at_s + std::max(again.after_s, 0.0));
    }
  }
  if (decision.ask_again_s && std::isfinite(*decision.ask_again_s)) {
    const double then = at_s + std::max(*decision.ask_again_s, 0.0);
    ask_again_s_ = std::min(ask_again_s_.value_or(then), then);
  }
  follow_pauses(decision, at_s);
  for (const Deferral& deferral : decision.defer) {
    backlog_.defer(deferral);
  }
  return static_cast<std::size_t>(std::ranges::count_if(
      decision.place, [&](const Placement& placement) { return start(placement, at_s); }));
}

bool Planner::start(const Placement& placement, double at_s) {
  const LiveJob* job = jobs_.live(placement.job);
  if (job == nullptr || !backlog_.line().contains(placement.job) || job->offered != questions_) {
    refused(fmt::format("policy \"{}\" placed job {}, which it was not asked about: refused",
                        policy_.name(),
                        placement.job));
    return false;
  }
  // Another job of this decision may be the one that tries after a pause.
  if (std::string why = why_closed(job->view, placement.gpus, at_s); !why.empty()) {
    backlog_.defer(
        {.job = placement.job, .constraint = Constraint::Machine, .reason = std::move(why)});
    held_back_ = true;
    return false;
  }
  if (const auto violation = find_violation(occupancy_.views(), job->view, placement)) {
    const Deferral deferral = refusal(policy_.name(), placement.job, *violation);
    backlog_.defer(deferral);
    refused(fmt::format("job {}: {}", placement.job, deferral.reason));
    return false;
  }
  backlog_.line().started();
  runs_.start(placement, at_s);
  ++started_;
  set_gpus_aside(at_s);
  return true;
}

// A policy that asks for too much does so at every decision: its refusals are logged ever more
// rarely.
void Planner::refused(const std::string& message) {
  if (std::has_single_bit(++refused_placements_)) {
    log_warning(fmt::format("{} ({} refused so far)", message, refused_placements_));
  }
}

}  // namespace carpool::schedule
