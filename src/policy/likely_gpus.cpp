#include "policy/likely_gpus.hpp"

#include <algorithm>
#include <utility>

#include "policy/carpool_constants.hpp"

namespace carpool::policy {

const std::vector<std::size_t>& LikelyGpus::gpus() {
  if (!ordered_) {
    ordered_ = true;
    gpus_ = state_.open();
    if (gpus_.size() > kMostAsked) {
      least_busy_first();
    }
  }
  return gpus_;
}

void LikelyGpus::least_busy_first() {
  for (const PendingJob& job : state_.queue()) {
    some_unknown_ = some_unknown_ || !job.need_known;
    least_need_bytes_ =
        job.need_known ? std::min(least_need_bytes_, job.need_bytes) : least_need_bytes_;
  }
  std::vector<std::pair<double, std::size_t>> busy;
  busy.reserve(gpus_.size());
  for (const std::size_t i : gpus_) {
    const Slot& slot = state_.slots()[i];
    if (!slot.empty() && fits_some(slot)) {
      busy.emplace_back(activity(slot), i);
    }
  }
  std::ranges::sort(busy);
  gpus_.resize(busy.size());
  std::ranges::transform(busy, gpus_.begin(), &std::pair<double, std::size_t>::second);
}

bool LikelyGpus::fits_some(const Slot& slot) const {
  return slot.free_bytes >= least_need_bytes_ ||
         (some_unknown_ &&
          (!settings_.use_caps || slot.free_bytes >= PlacementState::least_claim(slot)));
}

double LikelyGpus::activity(std::uint32_t workload) {
  for (std::size_t next = activities_.size(); next < state_.workloads().size(); ++next) {
    activities_.push_back(model_.sm_active(state_.workloads()[next]).value_or(kUnknownActivity));
  }
  return activities_[workload];
}

double LikelyGpus::activity(const Slot& slot) {
  double sum = 0.0;
  for (std::size_t i = 0; i < slot.view->residents.size(); ++i) {
    if (!slot.stands_still(i)) {
      sum += activity(state_.number_of(slot.view->residents[i]));
    }
  }
  for (const PendingJob& job : slot.added) {
    sum += activity(job.workload);
  }
  return slot.view->foreign ? sum + activity(state_.number_of("")) : sum;
}

}  // namespace carpool::policy
