// The planner and what the machine cannot start for now.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "schedule/planner.hpp"

namespace carpool::schedule {

void Planner::update_pauses(double at_s) {
  pauses_.tidy(at_s, [&](const TroublePlace& place) {
    switch (place.scope) {
      case TroubleScope::Job:
        return std::as_const(jobs_).live(place.which) != nullptr;
      case TroubleScope::User:
        return jobs_.live_jobs_of(static_cast<std::uint32_t>(place.which)) > 0;
      case TroubleScope::Gpus:
      case TroubleScope::Machine:
        break;
    }
    return true;
  });
  set_gpus_aside(at_s);
}

void Planner::set_gpus_aside(double at_s) {
  if (pauses_.empty() && !some_aside_) {
    return;
  }
  some_aside_ = !pauses_.empty();
  for (const GpuView& view : occupancy_.views()) {
    occupancy_.set_aside(view.index, pauses_.why_closed({TroubleScope::Gpus, view.index}, at_s));
  }
}

std::string Planner::why_closed(const QueuedJob& job,
                                std::span<const unsigned> gpus,
                                double at_s) const {
  if (pauses_.empty()) {
    return {};
  }
  std::string why = pauses_.why_closed(job.job, job.uid, at_s);
  for (auto gpu = gpus.begin(); why.empty() && gpu != gpus.end(); ++gpu) {
    why = pauses_.why_closed({TroubleScope::Gpus, *gpu}, at_s);
    why = why.empty() ? why : fmt::format("GPU {} is {}", *gpu, why);
  }
  return why;
}

}  // namespace carpool::schedule
