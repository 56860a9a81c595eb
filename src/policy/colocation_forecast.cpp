#include "policy/colocation_forecast.hpp"

#include <algorithm>

namespace carpool::policy {

std::uint32_t ColocationForecasts::number_of(std::size_t slot) {
  std::uint32_t& number = numbers_[slot];
  if (number == kNotYet) {
    number = static_cast<std::uint32_t>(now_.size());
    now_.emplace_back();
  }
  return number;
}

ColocationForecasts::Now& ColocationForecasts::at(std::size_t slot) {
  const Slot& now = state_.slots()[slot];
  Now& known = now_[number_of(slot)];
  if (known.members != now.members()) {
    known.members = now.members();
    known.group = state_.group(now);
    known.progress = speeds_.of(known.group);
  }
  return known;
}

const ColocationForecast& ColocationForecasts::of(const PendingJob& job, std::size_t slot) {
  rows_.resize(std::max<std::size_t>(rows_.size(), job.form + 1));
  auto& row = rows_[job.form];
  const std::uint32_t number = number_of(slot);
  if (number >= row.size()) {
    row.resize(now_.size());
  }
  Known& known = row[number];
  const std::size_t members = state_.slots()[slot].members();
  if (known.members != members) {
    known = {.forecast = predict(job, slot), .members = members};
  }
  return known.forecast;
}

std::size_t ColocationForecasts::useful_members(std::size_t slot, double least_gain, double floor) {
  Now& now = at(slot);
  if (now.useful_of == now.members) {
    return now.useful;
  }
  now.useful_of = now.members;
  now.useful = 0;
  std::vector<ActiveMember> kept;
  double sum = 0.0;
  for (const ActiveMember& member : now.group) {
    kept.push_back(member);
    const GroupProgress with = speeds_.of(kept);
    if (kept.size() == 1 || (with.sum >= sum + least_gain && with.keeps(floor))) {
      sum = with.sum;
      ++now.useful;
    } else {
      kept.pop_back();
    }
  }
  return now.useful;
}

ColocationForecast ColocationForecasts::predict(const PendingJob& job, std::size_t slot) {
  const Now& before = at(slot);
  if (before.group.empty()) {
    return {};
  }
  group_ = before.group;
  group_.push_back(state_.member(job, state_.slots()[slot]));
  const GroupProgress with = speeds_.of(group_);
  ColocationForecast forecast{.own = with.shares.back(),
                              .worst = with.worst,
                              .worst_slo = with.worst_slo,
                              .keeps_slo = with.keeps_slo(),
                              .gain = with.sum - before.progress.sum};
  for (std::size_t i = 0; i < before.group.size(); ++i) {
    const double share = before.progress.shares[i];
    forecast.kept = std::min(forecast.kept, share > 0.0 ? with.shares[i] / share : 1.0);
  }
  return forecast;
}

}  // namespace carpool::policy
