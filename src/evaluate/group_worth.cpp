#include "evaluate/group_worth.hpp"

#include "evaluate/measured.hpp"

namespace carpool {

Score score_against_recorded(const Dataset& dataset,
                             const Objective& objective,
                             const GroupForecast& forecast,
                             const Group& group) {
  return score_group(objective,
                     forecast,
                     recorded_speeds(dataset, group),
                     member_weights(objective, group.size()));
}

double measured_worth(const Dataset& dataset, const Objective& objective, const GroupRow& row) {
  return score_against_recorded(dataset, objective, as_measured(row), row.members).value;
}

std::vector<double> predicted_worth(const Dataset& dataset,
                                    const Objective& objective,
                                    const Forecaster& forecaster,
                                    std::span<const Group> groups) {
  if (objective.kind == ObjectiveKind::Throughput) {
    return forecaster.preferences(groups);
  }
  std::vector<double> values;
  const auto forecasts = forecaster.forecast(groups, ForecastDetail::PointOnly);
  values.reserve(forecasts.size());
  for (std::size_t i = 0; i < forecasts.size(); ++i) {
    values.push_back(
        forecasts[i].members.empty()
            ? forecasts[i].preference
            : score_against_recorded(dataset, objective, forecasts[i], groups[i]).value);
  }
  return values;
}

}  // namespace carpool
