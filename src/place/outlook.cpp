#include "place/outlook.hpp"

#include <algorithm>

namespace carpool {

Outlooks::Outlooks(Board& board, const CoRunModel& model)
    : board_(board),
      bound_(model.bind(board.workloads())),
      bound_names_(board.workloads().size()),
      rows_(board.workloads().size()),
      now_(board.slots().size()) {}

const Outlooks::Now& Outlooks::at(std::size_t slot) {
  const Slot& now = board_.slots()[slot];
  Now& known = now_[slot];
  if (known.members != now.members()) {
    known.members = now.members();
    known.group = board_.group(now);
    for (; bound_names_ < board_.workloads().size(); ++bound_names_) {
      bound_->add(board_.workloads()[bound_names_]);
    }
    known.shares.assign(known.group.size(), 1.0);
    bound_->progress(known.group, known.shares);
  }
  return known;
}

const std::vector<double>& Outlooks::shares_at(std::size_t slot) {
  return at(slot).shares;
}

const Outlook& Outlooks::of(std::uint32_t workload, std::size_t slot) {
  auto& row = rows_[workload];
  row.resize(board_.slots().size());
  Known& known = row[slot];
  const std::size_t members = board_.slots()[slot].members();
  if (known.members != members) {
    known = {.outlook = predict(workload, slot), .members = members};
  }
  return known.outlook;
}

Outlook Outlooks::predict(std::uint32_t workload, std::size_t slot) {
  const Slot& now = board_.slots()[slot];
  if (now.empty()) {
    return {};
  }
  const Now& before = at(slot);
  group_ = before.group;
  group_.push_back(workload);
  shares_.assign(group_.size(), 1.0);
  bound_->progress(group_, shares_);
  Outlook outlook{.own = shares_.back(), .worst = shares_.back(), .gain = shares_.back()};
  for (std::size_t i = 0; i < before.shares.size(); ++i) {
    outlook.worst = std::min(outlook.worst, shares_[i]);
    outlook.kept =
        std::min(outlook.kept, before.shares[i] > 0.0 ? shares_[i] / before.shares[i] : 1.0);
    outlook.gain += shares_[i] - before.shares[i];
    const std::size_t residents = now.view->residents.size();
    const bool slo = i < residents ? now.view->residents[i].job_class == JobClass::Slo
                                   : i - residents < now.added.size() &&
                                         now.added[i - residents].job->job_class == JobClass::Slo;
    if (slo) {
      outlook.worst_slo = std::min(outlook.worst_slo, shares_[i]);
    }
  }
  return outlook;
}

}  // namespace carpool
