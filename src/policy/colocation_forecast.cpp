#include "policy/colocation_forecast.hpp"

#include <algorithm>

namespace carpool::policy {

ColocationForecasts::ColocationForecasts(PlacementState& state, const InterferenceModel& model)
    : state_(state),
      bound_(model.bind(state.workloads())),
      bound_names_(state.workloads().size()),
      rows_(state.workloads().size()),
      now_(state.slots().size()) {}

const ColocationForecasts::Now& ColocationForecasts::at(std::size_t slot) {
  const Slot& now = state_.slots()[slot];
  Now& known = now_[slot];
  if (known.members != now.members()) {
    known.members = now.members();
    known.group = state_.group(now);
    for (; bound_names_ < state_.workloads().size(); ++bound_names_) {
      bound_->add(state_.workloads()[bound_names_]);
    }
    known.shares.assign(known.group.size(), 1.0);
    bound_->progress(known.group, known.shares);
  }
  return known;
}

const std::vector<double>& ColocationForecasts::shares_at(std::size_t slot) {
  return at(slot).shares;
}

const ColocationForecast& ColocationForecasts::of(std::uint32_t workload, std::size_t slot) {
  auto& row = rows_[workload];
  row.resize(state_.slots().size());
  Known& known = row[slot];
  const std::size_t members = state_.slots()[slot].members();
  if (known.members != members) {
    known = {.forecast = predict(workload, slot), .members = members};
  }
  return known.forecast;
}

ColocationForecast ColocationForecasts::predict(std::uint32_t workload, std::size_t slot) {
  const Slot& now = state_.slots()[slot];
  if (now.empty()) {
    return {};
  }
  const Now& before = at(slot);
  group_ = before.group;
  group_.push_back(workload);
  shares_.assign(group_.size(), 1.0);
  bound_->progress(group_, shares_);
  ColocationForecast forecast{
      .own = shares_.back(), .worst = shares_.back(), .gain = shares_.back()};
  for (std::size_t i = 0; i < before.shares.size(); ++i) {
    forecast.worst = std::min(forecast.worst, shares_[i]);
    forecast.kept =
        std::min(forecast.kept, before.shares[i] > 0.0 ? shares_[i] / before.shares[i] : 1.0);
    forecast.gain += shares_[i] - before.shares[i];
    const std::size_t residents = now.view->residents.size();
    const bool slo = i < residents ? now.view->residents[i].job_class == JobClass::Slo
                                   : i - residents < now.added.size() &&
                                         now.added[i - residents].job->job_class == JobClass::Slo;
    if (slo) {
      forecast.worst_slo = std::min(forecast.worst_slo, shares_[i]);
    }
  }
  return forecast;
}

}  // namespace carpool::policy
