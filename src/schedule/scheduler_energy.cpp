// What running attempts have used so far, and how their energy survives a restart.
#include <algorithm>
#include <utility>

#include "schedule/scheduler_parts.hpp"

namespace carpool::schedule {

std::optional<double> Scheduler::energy_joules(JobId job) const {
  return parts_->occupancy.energy().joules_of(job);
}

std::optional<std::uint64_t> Scheduler::peak_bytes(JobId job) const {
  return parts_->occupancy.peak_bytes(job);
}

EnergyRecord Scheduler::energy() const {
  EnergyRecord record;
  const EnergyLedger& ledger = parts_->occupancy.energy();
  const auto run_of = [&](JobId job) {
    const JobRecord* known = find(job);
    const JobAttempt* running = known == nullptr ? nullptr : known->running();
    return running == nullptr ? std::nullopt : std::optional(RunId{job, running->start.attempt});
  };
  for (const auto& [uuid, reading] : ledger.readings()) {
    EnergyRecord::Gpu gpu{.uuid = uuid, .joules = reading.joules};
    for (const JobId job : reading.jobs) {
      if (const auto run = run_of(job)) {
        gpu.runs.push_back(*run);
      }
    }
    if (!gpu.runs.empty()) {
      record.gpus.push_back(std::move(gpu));
    }
  }
  for (const GpuView& view : parts_->occupancy.views()) {
    for (const Resident& resident : view.residents) {
      const auto joules = ledger.joules_of(resident.job);
      const auto run = run_of(resident.job);
      if (joules && run) {
        record.attempts.push_back({.run = *run, .joules = *joules});
      }
    }
  }
  std::ranges::sort(record.gpus, {}, &EnergyRecord::Gpu::uuid);
  std::ranges::sort(record.attempts, {}, &EnergyRecord::Attempt::run);
  // A job on several GPUs was met on each.
  const auto again = std::ranges::unique(record.attempts);
  record.attempts.erase(again.begin(), again.end());
  return record;
}

void SchedulerParts::restore_energy(const EnergyRecord& record) {
  const auto runs_still = [&](const RunId& run) {
    const JobRecord* known = jobs.find(run.job);
    const JobAttempt* running = known == nullptr ? nullptr : known->running();
    return running != nullptr && running->start.attempt == run.attempt;
  };
  for (const EnergyRecord::Attempt& attempt : record.attempts) {
    if (runs_still(attempt.run)) {
      occupancy.energy().restore(attempt.run.job, attempt.joules);
    }
  }
  for (const EnergyRecord::Gpu& gpu : record.gpus) {
    if (std::ranges::all_of(gpu.runs, runs_still)) {
      EnergyLedger::LastReading reading{.joules = gpu.joules};
      for (const RunId& run : gpu.runs) {
        reading.jobs.push_back(run.job);
      }
      occupancy.energy().restore(gpu.uuid, std::move(reading));
    }
  }
}

}  // namespace carpool::schedule
