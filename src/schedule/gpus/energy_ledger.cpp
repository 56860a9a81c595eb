#include "schedule/gpus/energy_ledger.hpp"

#include <algorithm>
#include <utility>

namespace carpool::schedule {
namespace {

const EnergyLedger::Present* present_job(std::span<const EnergyLedger::Present> present,
                                         JobId job) {
  const auto found = std::ranges::find(present, job, &EnergyLedger::Present::job);
  return found == present.end() ? nullptr : &*found;
}

// The sum of the SM activity of these jobs; empty: that of one of them is not known, or none
// computed.
std::optional<double> whole_activity(std::span<const JobId> jobs,
                                     std::span<const EnergyLedger::Present> present) {
  double sum = 0.0;
  for (const JobId job : jobs) {
    const EnergyLedger::Present* now = present_job(present, job);
    if (now == nullptr || !now->sm_active) {
      return std::nullopt;
    }
    sum += *now->sm_active;
  }
  return sum > 0.0 ? std::optional(sum) : std::nullopt;
}

}  // namespace

void EnergyLedger::read(const std::string& uuid, double joules, std::span<const Present> present) {
  LastReading next{.joules = joules};
  for (const Present& now : present) {
    if (now.runs) {
      next.jobs.push_back(now.job);
    }
  }
  const auto [last, first] = readings_.try_emplace(uuid, next);
  if (first || last->second.joules == joules) {
    return;
  }
  // A counter that went back was reset: the driver was loaded again.
  if (joules > last->second.joules) {
    divide(last->second, joules - last->second.joules, present);
  }
  last->second = std::move(next);
}

void EnergyLedger::divide(const LastReading& last,
                          double joules,
                          std::span<const Present> present) {
  const bool all_here = std::ranges::all_of(
      last.jobs, [&](JobId job) { return present_job(present, job) != nullptr; });
  if (last.restored && !all_here) {
    return;
  }
  const std::optional<double> whole = whole_activity(last.jobs, present);
  for (const JobId job : last.jobs) {
    if (const Present* now = present_job(present, job); now != nullptr) {
      const double share =
          whole ? *now->sm_active / *whole : 1.0 / static_cast<double>(last.jobs.size());
      joules_[job] += joules * share;
    }
  }
}

std::optional<double> EnergyLedger::joules_of(JobId job) const {
  const auto found = joules_.find(job);
  return found == joules_.end() ? std::nullopt : std::optional(found->second);
}

void EnergyLedger::remove(JobId job) {
  joules_.erase(job);
}

void EnergyLedger::restore(const std::string& uuid, LastReading reading) {
  reading.restored = true;
  readings_.insert_or_assign(uuid, std::move(reading));
}

}  // namespace carpool::schedule
