#include "schedule/occupancy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace carpool::schedule {
namespace {

constexpr double kNever = 1e18;
// Growth below this is noise of a caching allocator, not a new peak.
constexpr double kPeakGrowth = 1.01;
constexpr double kRoomAbovePeak = 1.05;
// Smaller changes do not change a decision.
constexpr double kMemoryStep = 0.01;  // of the GPU
constexpr double kPressureStep = 0.02;
// Remaining time of a job past its expected run time, as a share of the time so far.
constexpr double kStillToGo = 0.1;

bool moved(const std::optional<GpuPressure>& before, const std::optional<GpuPressure>& after) {
  if (!before || !after) {
    return before.has_value() != after.has_value();
  }
  return std::abs(before->sm_active - after->sm_active) > kPressureStep ||
         std::abs(before->sm_occupancy - after->sm_occupancy) > kPressureStep ||
         std::abs(before->dram_active - after->dram_active) > kPressureStep;
}

bool moved(std::uint64_t before, std::uint64_t after, std::uint64_t of) {
  const double difference = std::abs(static_cast<double>(before) - static_cast<double>(after));
  return difference > kMemoryStep * static_cast<double>(of);
}

}  // namespace

Occupancy::Occupancy(std::vector<GpuView> gpus,
                     const InterferenceModel& interference,
                     double peak_stable_s)
    : views_(std::move(gpus)),
      paces_(views_.size()),
      last_(views_.size()),
      closed_(views_.size()),
      interference_(interference),
      peak_stable_s_(peak_stable_s) {
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

void Occupancy::add(const Resident& resident,
                    std::span<const unsigned> gpus,
                    std::optional<double> runtime_s,
                    double now_s) {
  Run run{.reserved_bytes = resident.reserved_bytes, .peak_grew_s = now_s};
  for (const unsigned index : gpus) {
    // A GPU that the journal names may no longer be in the machine.
    if (const auto place = place_of(index)) {
      run.places.push_back(*place);
      views_[*place].residents.push_back(resident);
      Resident& added = views_[*place].residents.back();
      added.remaining_s = runtime_s;
      added.reserved_bytes = std::min(added.reserved_bytes, views_[*place].memory_bytes);
      paces_[*place].push_back({.runtime_s = runtime_s.value_or(-1.0), .since_s = now_s});
      last_[*place] = {.job = resident.job, .placed_s = now_s};
    }
  }
  const auto places = run.places;
  runs_.insert_or_assign(resident.job, std::move(run));
  for (const std::size_t place : places) {
    change_speeds(place, now_s);
  }
}

void Occupancy::remove(JobId job, double now_s) {
  const auto found = runs_.find(job);
  if (found == runs_.end()) {
    return;
  }
  const auto places = std::move(found->second.places);
  runs_.erase(found);
  for (const std::size_t place : places) {
    GpuView& view = views_[place];
    const auto left = std::ranges::find(view.residents, job, &Resident::job);
    if (left != view.residents.end()) {
      // The next observation gives the exact value.
      view.used_bytes -= std::min(view.used_bytes, left->used_bytes);
      paces_[place].erase(paces_[place].begin() + (left - view.residents.begin()));
      view.residents.erase(left);
    }
    if (last_[place].job == job) {
      last_[place].job = 0;
    }
    change_speeds(place, now_s);
  }
}

std::optional<std::uint64_t> Occupancy::peak_bytes(JobId job) const {
  const auto found = runs_.find(job);
  return found == runs_.end() || !found->second.seen ? std::nullopt
                                                     : std::optional(found->second.peak_bytes);
}

void Occupancy::set_phase(JobId job, ResidentPhase phase, double now_s) {
  const auto found = runs_.find(job);
  if (found == runs_.end()) {
    return;
  }
  Run& run = found->second;
  if (run.computing) {
    run.computed_s += std::max(now_s - run.computing_since_s, 0.0);
  }
  run.computing = phase == ResidentPhase::Computing;
  run.computing_since_s = now_s;
  for (const std::size_t place : run.places) {
    for (Resident& resident : views_[place].residents) {
      if (resident.job == job) {
        resident.phase = phase;
        resident.phase_since_s = now_s;
      }
    }
    change_speeds(place, now_s);
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

void Occupancy::Pace::settle(double now_s) {
  done_s += speed * std::max(now_s - since_s, 0.0);
  since_s = std::max(since_s, now_s);
}

// After a change of the group on a GPU: work so far counts at the old speed, from now on at the
// new.
void Occupancy::change_speeds(std::size_t place, double now_s) {
  stale_ = true;
  const auto& residents = views_[place].residents;
  std::vector<double> speeds(residents.size(), 0.0);  // of those that start or stand still
  std::vector<InterferenceMember> group;
  std::vector<std::size_t> computing;
  for (std::size_t i = 0; i < residents.size(); ++i) {
    if (residents[i].phase == ResidentPhase::Computing) {
      group.push_back(
          {.workload = residents[i].workload, .thread_limit = residents[i].thread_limit});
      computing.push_back(i);
    }
  }
  const std::vector<double> together =
      group.size() > 1 ? interference_.progress(group) : std::vector<double>(group.size(), 1.0);
  for (std::size_t i = 0; i < computing.size(); ++i) {
    speeds[computing[i]] = together[i];
  }
  for (std::size_t i = 0; i < residents.size(); ++i) {
    paces_[place][i].settle(now_s);
    paces_[place][i].speed = speeds.at(i);
  }
}

bool Occupancy::observe(const GpuObservation& observation, double now_s) {
  const auto place = place_of(observation.gpu);
  if (!place) {
    return false;
  }
  GpuView& view = views_[*place];
  // Policies see free memory: growth within a reservation changes nothing for them.
  const std::uint64_t free_before = view.free_bytes();
  bool changed = moved(view.pressure, observation.pressure) ||
                 view.foreign != observation.foreign ||
                 closed_[*place].observed != observation.unusable;
  view.used_bytes = observation.used_bytes;
  view.foreign_bytes = observation.foreign_bytes;
  view.foreign = observation.foreign;
  view.pressure = observation.pressure;
  closed_[*place].observed = observation.unusable;
  update_usable(*place);
  for (const auto& memory : observation.jobs) {
    changed = observe_memory(memory, *place, now_s) || changed;
  }
  return changed || moved(free_before, view.free_bytes(), view.memory_bytes);
}

bool Occupancy::observe_memory(const GpuObservation::JobSeen& memory,
                               std::size_t place,
                               double now_s) {
  auto& residents = views_[place].residents;
  const auto resident = std::ranges::find(residents, memory.job, &Resident::job);
  if (resident == residents.end()) {
    return false;
  }
  resident->used_bytes = memory.bytes;
  bool changed = false;
  if (last_[place].job == memory.job && !last_[place].seen_s && memory.bytes > 0) {
    last_[place].seen_s = now_s;
    stale_ = true;
    changed = true;
  }
  Run& run = runs_.at(memory.job);
  if (!run.seen && memory.bytes > 0) {
    run.seen = true;
    changed = true;
    if (resident->phase == ResidentPhase::Starting) {
      set_phase(memory.job, ResidentPhase::Computing, now_s);
    }
  }
  if (static_cast<double>(memory.bytes) > static_cast<double>(run.peak_bytes) * kPeakGrowth) {
    run.peak_grew_s = now_s;
  }
  run.peak_bytes = std::max(run.peak_bytes, memory.bytes);
  return settle_reservation(memory.job, run, now_s) || changed;
}

bool Occupancy::settle_reservation(JobId job, Run& run, double now_s) {
  if (run.reserved_bytes == 0) {
    return false;
  }
  run.peak_known = run.peak_known || (run.seen && now_s - run.peak_grew_s >= peak_stable_s_);
  const auto roomy =
      static_cast<std::uint64_t>(static_cast<double>(run.peak_bytes) * kRoomAbovePeak);
  const std::uint64_t promised =
      run.peak_known ? std::min(run.reserved_bytes, roomy) : run.reserved_bytes;
  const std::uint64_t reserved = std::max(promised, run.peak_bytes);
  bool changed = false;
  for (const std::size_t place : run.places) {
    GpuView& view = views_[place];
    for (Resident& resident : view.residents) {
      if (resident.job == job) {
        changed = changed || moved(resident.reserved_bytes, reserved, view.memory_bytes);
        resident.reserved_bytes = std::min(reserved, view.memory_bytes);
      }
    }
  }
  return changed;
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
    for (Resident& resident : views_[place].residents) {
      const Run& run = runs_.at(resident.job);
      resident.computed_s =
          run.computed_s + (run.computing ? std::max(now_s - run.computing_since_s, 0.0) : 0.0);
    }
    for (std::size_t i = 0; i < paces_[place].size(); ++i) {
      Pace& pace = paces_[place][i];
      if (pace.runtime_s >= 0.0) {
        pace.settle(now_s);
        views_[place].residents[i].remaining_s =
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
