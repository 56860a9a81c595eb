#include "policy/computing_group.hpp"

namespace carpool::policy {

ComputingGroup::ComputingGroup(PlacementState& state,
                               const Slot& slot,
                               GroupSpeeds& speeds,
                               double floor)
    : speeds_(speeds), floor_(floor) {
  members_.reserve(slot.view->residents.size());
  for (const Resident& resident : slot.view->residents) {
    members_.push_back(state.member(resident));
  }
  if (slot.view->foreign) {
    foreign_ = ActiveMember{.workload = state.number_of("")};
  }
}

GroupProgress ComputingGroup::progress(std::size_t without) {
  group_.clear();
  for (std::size_t i = 0; i < residents_.size(); ++i) {
    if (i != without) {
      group_.push_back(members_[residents_[i]]);
    }
  }
  if (foreign_) {
    group_.push_back(*foreign_);
  }
  return speeds_.of(group_);
}

std::size_t ComputingGroup::below_floor(const GroupProgress& progress, std::size_t without) const {
  std::size_t below = 0;
  std::size_t place = 0;
  for (std::size_t i = 0; i < residents_.size(); ++i) {
    if (i != without) {
      below += progress.below(place++, floor_) ? 1 : 0;
    }
  }
  return below;
}

bool ComputingGroup::join(std::size_t resident, double least_gain) {
  if (residents_.empty()) {
    residents_.push_back(resident);
    return true;
  }
  const double before = progress().sum;
  residents_.push_back(resident);
  const GroupProgress with = progress();
  if (with.sum >= before + least_gain && with.keeps(floor_)) {
    return true;
  }
  residents_.pop_back();
  return false;
}

}  // namespace carpool::policy
