#include "schedule/gpus/mps_faults.hpp"

#include <algorithm>
#include <tuple>

namespace carpool::schedule {
namespace {

constexpr double kOneFault = 30.0;

// The most suspected first.
auto by_suspicion(const Resident& resident) {
  return std::tuple(resident.computed_s, -resident.started_s, -resident.job);
}

}  // namespace

bool MpsFaults::suspects(JobId job, const GpuView& gpu, double at_s) {
  Fault& fault = last_[gpu.index];
  if (at_s - fault.at_s > kOneFault || !fault.members.contains(job)) {
    fault = {.at_s = at_s, .suspect = job};
    const Resident* suspect = nullptr;
    for (const Resident& resident : gpu.residents) {
      if (resident.mechanism != ShareMechanism::Mps) {
        continue;
      }
      fault.members.insert(resident.job);
      const bool was_seen = resident.used_bytes > 0 || resident.computed_s > 0.0;
      if (was_seen && (suspect == nullptr || by_suspicion(resident) < by_suspicion(*suspect))) {
        suspect = &resident;
      }
    }
    fault.suspect = suspect == nullptr ? job : suspect->job;
  }
  fault.members.erase(job);
  const auto reporter = std::ranges::find(gpu.residents, job, &Resident::job);
  // It had just reached the GPU, or the fault would not have ended it.
  const bool unseen =
      reporter != gpu.residents.end() && reporter->used_bytes == 0 && reporter->computed_s == 0.0;
  return unseen || fault.suspect == job;
}

}  // namespace carpool::schedule
