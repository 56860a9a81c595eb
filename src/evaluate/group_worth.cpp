#include "evaluate/group_worth.hpp"

#include <optional>

namespace carpool::evaluate {
namespace {

std::vector<double> recorded_speeds(const dataset::Dataset& dataset, const Group& group) {
  std::vector<double> speeds;
  speeds.reserve(group.size());
  for (const GroupMember& member : group) {
    speeds.push_back(dataset.profiles[member.profile].exclusive_throughput);
  }
  return speeds;
}

}  // namespace

GroupForecast as_measured(const dataset::GroupRow& row) {
  GroupForecast truth{
      .preference = row.sum(), .sum = row.sum(), .sum_interval90 = std::nullopt, .members = {}};
  for (const double throughput : row.throughput) {
    truth.members.push_back(
        {.throughput = throughput, .interval90 = std::nullopt, .extrapolated = false});
  }
  return truth;
}

predict::Score score_against_recorded(const dataset::Dataset& dataset,
                                      const predict::Objective& objective,
                                      const GroupForecast& forecast,
                                      const Group& group) {
  return predict::score_group(objective,
                              forecast,
                              recorded_speeds(dataset, group),
                              predict::member_weights(objective, group.size()));
}

double measured_worth(const dataset::Dataset& dataset,
                      const predict::Objective& objective,
                      const dataset::GroupRow& row) {
  return score_against_recorded(dataset, objective, as_measured(row), row.members).value;
}

std::vector<double> predicted_worth(const dataset::Dataset& dataset,
                                    const predict::Objective& objective,
                                    const model::Forecaster& forecaster,
                                    std::span<const Group> groups) {
  if (objective.kind == predict::ObjectiveKind::Throughput) {
    return forecaster.preferences(groups);
  }
  std::vector<double> values;
  const auto forecasts = forecaster.forecast(groups, model::ForecastDetail::PointOnly);
  values.reserve(forecasts.size());
  for (std::size_t i = 0; i < forecasts.size(); ++i) {
    values.push_back(
        forecasts[i].members.empty()
            ? forecasts[i].preference
            : score_against_recorded(dataset, objective, forecasts[i], groups[i]).value);
  }
  return values;
}

}  // namespace carpool::evaluate
