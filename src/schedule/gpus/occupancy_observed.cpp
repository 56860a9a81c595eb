// What the observations of GPUs tell of the jobs on them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "schedule/gpus/occupancy.hpp"

namespace carpool::schedule {
namespace {

// Smaller changes do not change a decision.
constexpr double kMemoryStep = 0.01;  // of the GPU
constexpr double kPressureStep = 0.02;

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
  if (view.foreign != observation.foreign) {
    mark_changed(*place);
  }
  view.used_bytes = observation.used_bytes;
  view.foreign_bytes = observation.foreign_bytes;
  view.foreign = observation.foreign;
  view.pressure = observation.pressure;
  closed_[*place].observed = observation.unusable;
  update_usable(*place);
  for (Resident& resident : view.residents) {
    resident.sm_active.reset();
  }
  for (const auto& seen : observation.jobs) {
    changed = observe_job(seen, *place, now_s) || changed;
  }
  observe_energy(view, observation);
  return changed || moved(free_before, view.free_bytes(), view.memory_bytes);
}

void Occupancy::observe_energy(const GpuView& view, const GpuObservation& observation) {
  if (!observation.energy_joules) {
    return;
  }
  std::vector<EnergyLedger::Present> present;
  present.reserve(view.residents.size());
  for (const Resident& resident : view.residents) {
    present.push_back({.job = resident.job,
                       .runs = resident.phase != ResidentPhase::Paused,
                       .sm_active = resident.sm_active});
  }
  energy_.read(view.uuid, *observation.energy_joules, present);
}

bool Occupancy::observe_job(const GpuObservation::JobSeen& seen, std::size_t place, double now_s) {
  auto& residents = views_[place].residents;
  const auto resident = std::ranges::find(residents, seen.job, &Resident::job);
  if (resident == residents.end()) {
    return false;
  }
  resident->used_bytes = seen.bytes;
  resident->sm_active = seen.sm_active;
  bool changed = false;
  if (last_[place].job == seen.job && !last_[place].seen_s && seen.bytes > 0) {
    last_[place].seen_s = now_s;
    stale_ = true;
    changed = true;
  }
  Run& run = runs_.at(seen.job);
  if (seen.processes == 0) {
    // It computes, and its memory cannot be told from that of others: the reservation stays.
    if (run.phase == ResidentPhase::Starting) {
      set_phase(seen.job, ResidentPhase::Computing, now_s);
      changed = true;
    }
    return changed;
  }
  if (!run.seen && seen.bytes > 0) {
    run.seen = true;
    changed = true;
    if (run.phase == ResidentPhase::Starting) {
      set_phase(seen.job, ResidentPhase::Computing, now_s);
    }
  }
  const double computed_s = run.all_computed_s(now_s);
  if (seen.processes > run.processes) {
    // Each process has a limit of its own.
    run.processes = seen.processes;
    run.reservation.raise(run.process_bytes * seen.processes, computed_s);
  }
  run.reservation.saw(seen.bytes, computed_s);
  return show_reservation(seen.job, run) || changed;
}

bool Occupancy::show_reservation(JobId job, const Run& run) {
  bool changed = false;
  for (const std::size_t place : run.places) {
    GpuView& view = views_[place];
    for (Resident& resident : view.residents) {
      if (resident.job == job) {
        const std::uint64_t reserved = std::min(run.reservation.bytes(), view.memory_bytes);
        changed = changed || moved(resident.reserved_bytes, reserved, view.memory_bytes);
        resident.reserved_bytes = reserved;
      }
    }
  }
  return changed;
}

void Occupancy::raise_reservation(JobId job, std::uint64_t bytes, double now_s) {
  if (const auto found = runs_.find(job); found != runs_.end()) {
    found->second.reservation.raise(bytes, found->second.all_computed_s(now_s));
    (void)show_reservation(job, found->second);
  }
}

std::optional<std::uint64_t> Occupancy::peak_bytes(JobId job) const {
  const auto found = runs_.find(job);
  return found == runs_.end() || !found->second.seen
             ? std::nullopt
             : std::optional(found->second.reservation.peak_bytes());
}

std::optional<WatchedRun> Occupancy::watched(JobId job, double now_s) const {
  const auto found = runs_.find(job);
  if (found == runs_.end()) {
    return std::nullopt;
  }
  const Run& run = found->second;
  WatchedRun out{.peak_bytes = peak_bytes(job),
                 .processes = run.processes,
                 .energy_joules = energy_.joules_of(job)};
  const double starting_s = run.in_phase_s(ResidentPhase::Starting, run.starting_s, now_s);
  if (run.seen && run.start_known) {
    out.starting_s = starting_s;
  }
  const double ran_s = starting_s + run.all_computed_s(now_s);
  for (const std::size_t place : run.places) {
    const auto& residents = views_[place].residents;
    const auto resident = std::ranges::find(residents, job, &Resident::job);
    const Pace& pace = paces_[place].at(static_cast<std::size_t>(resident - residents.begin()));
    if (ran_s > 0.0) {
      out.progress = std::min(out.progress, pace.all_done_s(now_s) / ran_s);
    }
  }
  return out;
}

std::unordered_map<JobId, std::uint64_t> Occupancy::exceeded(const GpuView& gpu) const {
  std::unordered_map<JobId, std::uint64_t> out;
  for (const Resident& resident : gpu.residents) {
    if (const auto kept = runs_.at(resident.job).reservation.exceeded_bytes(); kept > 0) {
      out.emplace(resident.job, kept);
    }
  }
  return out;
}

std::vector<Occupancy::OverCap> Occupancy::over_cap(const GpuView& gpu) const {
  std::uint64_t claimed = gpu.foreign_bytes;
  for (const Resident& resident : gpu.residents) {
    claimed += std::max(resident.reserved_bytes, resident.used_bytes);
  }
  std::vector<OverCap> out;
  for (const Resident& resident : gpu.residents) {
    const Run& run = runs_.at(resident.job);
    const std::uint64_t others = claimed - std::max(resident.reserved_bytes, resident.used_bytes);
    if (run.processes > run.divided && resident.cap_bytes > 0 &&
        resident.used_bytes > resident.cap_bytes &&
        resident.used_bytes + others > gpu.memory_bytes) {
      out.push_back({.job = resident.job,
                     .processes = run.processes,
                     .used_bytes = resident.used_bytes,
                     .cap_bytes = resident.cap_bytes});
    }
  }
  return out;
}

void Occupancy::lose_cap(JobId job) {
  const auto found = runs_.find(job);
  if (found == runs_.end()) {
    return;
  }
  found->second.process_bytes = 0;
  for (const std::size_t place : found->second.places) {
    const auto resident = std::ranges::find(views_[place].residents, job, &Resident::job);
    if (resident != views_[place].residents.end()) {
      resident->cap_bytes = 0;
    }
  }
}

void Occupancy::forget_starts() {
  for (auto& [job, run] : runs_) {
    run.start_known = false;
  }
}

GroupSeen Occupancy::group_seen(const GpuObservation& observation, double now_s) const {
  GroupSeen out{.at_s = now_s, .gpu = observation.gpu, .foreign = observation.foreign};
  if (observation.latest) {
    out.sm_active = observation.latest->sm_active;
  }
  const auto place = place_of(observation.gpu);
  if (!place) {
    return out;
  }
  out.unchanged_s = std::max(now_s - groups_[*place].since_s, 0.0);
  for (const Resident& resident : views_[*place].residents) {
    if (resident.phase != ResidentPhase::Computing) {
      continue;
    }
    const auto seen =
        std::ranges::find(observation.jobs, resident.job, &GpuObservation::JobSeen::job);
    GroupSeen::Member member{.job = resident.job,
                             .workload = resident.workload,
                             .thread_limit = resident.thread_limit,
                             .several_gpus = resident.several_gpus,
                             .computed_s = runs_.at(resident.job).all_computed_s(now_s),
                             .gating = resident.gating,
                             .mechanism = resident.mechanism,
                             .goal = resident.goal};
    if (seen != observation.jobs.end()) {
      member.rate = seen->rate;
      member.window = seen->window;
      member.latency = seen->latency;
    }
    out.computing.push_back(std::move(member));
  }
  return out;
}

}  // namespace carpool::schedule
