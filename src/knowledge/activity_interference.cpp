#include "knowledge/activity_interference.hpp"

#include <algorithm>

#include "core/workload_identity.hpp"

namespace carpool::knowledge {

std::vector<double> ActivityInterference::progress(
    std::span<const InterferenceMember> group) const {
  double demand = 0.0;
  for (const InterferenceMember& member : group) {
    demand += sm_active(member.workload).value_or(kUnknownActivity);
  }
  const double each = group.size() < 2 ? 1.0 : 1.0 / std::max(demand, 1.0);
  return std::vector<double>(group.size(), each);
}

std::optional<double> ActivityInterference::sm_active(const std::string& workload) const {
  const auto found = sm_active_.find(std::string(workload_name(workload)));
  return found == sm_active_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace carpool::knowledge
