#include "schedule/gpus/occupancy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "schedule/gpus/process_cap.hpp"

namespace carpool::schedule {
namespace {

constexpr double kNever = 1e18;
// Remaining time of a job past its expected run time, as a share of the time so far.
constexpr double kStillToGo = 0.1;

}  // namespace

Occupancy::Occupancy(std::vector<GpuView> gpus,
                     const InterferenceModel& interference,
                     const ReservationRules& reservation)
    : views_(std::move(gpus)),
      paces_(views_.size()),
      groups_(views_.size()),
      last_(views_.size()),
      closed_(views_.size()),
      is_changed_(views_.size(), false),
      interference_(interference),
      reservation_(reservation) {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    places_.emplace(views_[i].index, i);
    closed_[i].observed = views_[i].unusable;
  }
}

std::optional<std::size_t> Occupancy::place_of(unsigned index) const {
  const auto found = places_.find(index);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

const GpuView* Occupancy::find(unsigned index) const {
  const auto place = place_of(index);
  return place ? &views_[*place] : nullptr;
}

std::uint64_t Occupancy::largest_memory() const {
  std::uint64_t largest = 0;
  for (const GpuView& view : views_) {
    largest = std::max(largest, view.memory_bytes);
  }
  return largest;
}

unsigned Occupancy::expected_processes(const std::string& workload) const {
  const auto belief = interference_.belief(workload);
  return belief ? belief->processes : 1;
}

void Occupancy::add(const Resident& resident,
                    std::span<const unsigned> gpus,
                    std::optional<double> runtime_s,
                    double now_s,
                    unsigned processes) {
  Run run{.process_bytes = process_cap(resident.cap_bytes, processes),
          .divided = std::max(processes, 1U),
          .phase = resident.phase,
          .phase_since_s = now_s};
  for (const unsigned index : gpus) {
    // A GPU that the journal names may no longer be in the machine.
    if (const auto place = place_of(index)) {
      if (run.places.empty()) {
        run.reservation =
            JobReservation(reservation_, resident.reserved_bytes, views_[*place].memory_bytes);
      }
      run.places.push_back(*place);
      views_[*place].residents.push_back(resident);
      Resident& added = views_[*place].residents.back();
      added.phase_since_s = now_s;
      added.workload_number = numbers_.take(resident.workload);
      added.remaining_s = runtime_s;
      added.reserved_bytes = std::min(added.reserved_bytes, views_[*place].memory_bytes);
      paces_[*place].push_back({.runtime_s = runtime_s.value_or(-1.0), .since_s = now_s});
      last_[*place] = {.job = resident.job, .placed_s = now_s};
    }
  }
  const auto places = run.places;
  runs_.insert_or_assign(resident.job, std::move(run));
  for (const std::size_t place : places) {
    change_group(place, now_s);
  }
}

void Occupancy::remove(JobId job, double now_s) {
  const auto found = runs_.find(job);
  if (found == runs_.end()) {
    return;
  }
  const auto places = std::move(found->second.places);
  runs_.erase(found);
  energy_.remove(job);
  for (const std::size_t place : places) {
    GpuView& view = views_[place];
    const auto left = std::ranges::find(view.residents, job, &Resident::job);
    if (left != view.residents.end()) {
      // The next observation gives the exact value.
      view.used_bytes -= std::min(view.used_bytes, left->used_bytes);
      paces_[place].erase(paces_[place].begin() + (left - view.residents.begin()));
      numbers_.give_back(left->workload);
      view.residents.erase(left);
    }
    if (last_[place].job == job) {
      last_[place].job = 0;
    }
    change_group(place, now_s);
  }
}

void Occupancy::set_phase(JobId job, ResidentPhase phase, double now_s) {
  const auto found = runs_.find(job);
  if (found == runs_.end()) {
    return;
  }
  Run& run = found->second;
  run.starting_s = run.in_phase_s(ResidentPhase::Starting, run.starting_s, now_s);
  run.computed_s = run.all_computed_s(now_s);
  run.phase = phase;
  run.phase_since_s = now_s;
  for (const std::size_t place : run.places) {
    auto& residents = views_[place].residents;
    for (std::size_t i = 0; i < residents.size(); ++i) {
      if (residents[i].job == job) {
        residents[i].phase = phase;
        residents[i].phase_since_s = now_s;
        paces_[place][i].computed_s = run.computed_s;
      }
    }
    change_group(place, now_s);
  }
}

void Occupancy::pause(JobId job, PauseCause cause, double now_s) {
  set_phase(job, ResidentPhase::Paused, now_s);
  const auto found = runs_.find(job);
  for (const std::size_t place :
       found == runs_.end() ? std::vector<std::size_t>() : found->second.places) {
    for (Resident& resident : views_[place].residents) {
      if (resident.job == job) {
        resident.paused_for = cause;
        ++resident.pauses;
      }
    }
  }
}

void Occupancy::resume(JobId job, double now_s) {
  const auto found = runs_.find(job);
  if (found != runs_.end()) {
    set_phase(job, found->second.seen ? ResidentPhase::Computing : ResidentPhase::Starting, now_s);
  }
}

double Occupancy::Run::in_phase_s(ResidentPhase which, double before_s, double now_s) const {
  return before_s + (phase == which ? std::max(now_s - phase_since_s, 0.0) : 0.0);
}

double Occupancy::Pace::all_done_s(double now_s) const {
  return done_s + speed * std::max(now_s - since_s, 0.0);
}

void Occupancy::Pace::settle(double now_s) {
  done_s = all_done_s(now_s);
  since_s = std::max(since_s, now_s);
}

void Occupancy::mark_changed(std::size_t place) {
  if (!is_changed_[place]) {
    is_changed_[place] = true;
    changed_.push_back(place);
  }
}

std::vector<std::size_t> Occupancy::take_changed() {
  for (const std::size_t place : changed_) {
    is_changed_[place] = false;
  }
  return std::exchange(changed_, {});
}

void Occupancy::learned_of(unsigned index) {
  if (const auto place = place_of(index)) {
    mark_changed(*place);
  }
}

void Occupancy::change_group(std::size_t place, double now_s) {
  mark_changed(place);
  change_speeds(place, now_s);
}

// After a change of the group on a GPU: work so far counts at the old speed, from now on at the
// new. A job that starts slows no other down, and runs at its own speed.
void Occupancy::change_speeds(std::size_t place, double now_s) {
  stale_ = true;
  const auto& residents = views_[place].residents;
  std::vector<InterferenceMember> group;
  std::vector<JobId> computing;
  for (const Resident& resident : residents) {
    if (resident.phase == ResidentPhase::Computing) {
      group.push_back({.workload = resident.workload, .thread_limit = resident.thread_limit});
      computing.push_back(resident.job);
    }
  }
  const std::vector<double> together =
      group.size() > 1 ? interference_.progress(group) : std::vector<double>(group.size(), 1.0);
  auto speed = together.begin();
  for (std::size_t i = 0; i < residents.size(); ++i) {
    paces_[place][i].settle(now_s);
    paces_[place][i].speed = residents[i].phase == ResidentPhase::Computing  ? *speed++
                             : residents[i].phase == ResidentPhase::Starting ? 1.0
                                                                             : 0.0;
  }
  if (computing != groups_[place].computing) {
    groups_[place] = {.computing = std::move(computing), .since_s = now_s};
    ++group_changes_;
  }
}

void Occupancy::update_speeds(double now_s) {
  for (std::size_t place = 0; place < views_.size(); ++place) {
    if (groups_[place].computing.size() > 1) {
      change_speeds(place, now_s);
    }
  }
}

bool Occupancy::has_groups() const {
  return std::ranges::any_of(views_, [](const GpuView& view) {
    return view.residents.size() > 1 ||
           (!view.residents.empty() && view.residents.front().phase == ResidentPhase::Paused);
  });
}

void Occupancy::refresh_placed(std::size_t place, double now_s) {
  GpuView& view = views_[place];
  const LastPlaced& last = last_[place];
  // A job that has ended does not block others.
  view.since_placed_s = last.job == 0 ? kNever : now_s - last.placed_s;
  view.last_seen_busy = last.job == 0 || last.seen_s.has_value();
  view.since_seen_busy_s = last.job != 0 && last.seen_s ? now_s - *last.seen_s : kNever;
}

void Occupancy::refresh(double now_s) {
  if (now_s == refreshed_s_ && !stale_) {
    return;
  }
  refreshed_s_ = now_s;
  stale_ = false;
  for (std::size_t place = 0; place < views_.size(); ++place) {
    refresh_placed(place, now_s);
    for (std::size_t i = 0; i < paces_[place].size(); ++i) {
      Resident& resident = views_[place].residents[i];
      Pace& pace = paces_[place][i];
      const bool computes = resident.phase == ResidentPhase::Computing;
      resident.computed_s =
          pace.computed_s + (computes ? std::max(now_s - resident.phase_since_s, 0.0) : 0.0);
      if (pace.runtime_s >= 0.0) {
        pace.settle(now_s);
        resident.remaining_s =
            pace.done_s < pace.runtime_s ? pace.runtime_s - pace.done_s : kStillToGo * pace.done_s;
      }
    }
  }
}

void Occupancy::update_usable(std::size_t place) {
  const Closed& why = closed_[place];
  views_[place].unusable = !why.observed.empty()  ? why.observed
                           : !why.trouble.empty() ? why.trouble
                                                  : why.withheld;
}

void Occupancy::withhold(unsigned index, const std::string& why) {
  if (const auto place = place_of(index)) {
    closed_[*place].withheld = why;
    update_usable(*place);
  }
}

void Occupancy::give_back(unsigned index) {
  withhold(index, {});
}

void Occupancy::set_aside(unsigned index, const std::string& why) {
  const auto place = place_of(index);
  if (place && closed_[*place].trouble != why) {
    closed_[*place].trouble = why;
    update_usable(*place);
  }
}

}  // namespace carpool::schedule
