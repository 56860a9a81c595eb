#include "evaluate/measured.hpp"

#include <optional>

namespace carpool::evaluate {

GroupForecast as_measured(const dataset::GroupRow& row) {
  GroupForecast truth{
      .preference = row.sum(), .sum = row.sum(), .sum_interval90 = std::nullopt, .members = {}};
  for (const double throughput : row.throughput) {
    truth.members.push_back(
        {.throughput = throughput, .interval90 = std::nullopt, .extrapolated = false});
  }
  return truth;
}

std::vector<double> recorded_speeds(const dataset::Dataset& dataset, const Group& group) {
  std::vector<double> speeds;
  speeds.reserve(group.size());
  for (const GroupMember& member : group) {
    speeds.push_back(dataset.profiles[member.profile].exclusive_throughput);
  }
  return speeds;
}

}  // namespace carpool::evaluate
