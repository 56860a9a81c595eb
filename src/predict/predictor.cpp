#include "predict/predictor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace carpool::predict {
namespace {

// Only the speed in the group carries an interval: both speeds come from one model, so its error
// about the workload itself cancels in the ratio.
Interval slowdown_interval(double solo, const Interval& together) {
  const double slowest =
      together.low > 0.0 ? solo / together.low : std::numeric_limits<double>::infinity();
  return {.low = solo / together.high, .high = slowest};
}

MemberPrediction predict_member(const GroupMember& member,
                                const Profile& profile,
                                double solo,
                                const MemberForecast& forecast) {
  MemberPrediction predicted{
      .profile = member.profile,
      .workload = profile.workload,
      .thread_limit = member.thread_limit,
      .alone = solo,
      .together = forecast.throughput,
      .together90 = forecast.interval90,
      .slowdown = solo / forecast.throughput,
      .slowdown90 = std::nullopt,
      .progress = forecast.throughput / solo,
      .extrapolated = forecast.extrapolated,
  };
  if (forecast.interval90) {
    predicted.slowdown90 = slowdown_interval(solo, *forecast.interval90);
  }
  return predicted;
}

}  // namespace

Result<Predictor> Predictor::create(const model::ThroughputModel& model,
                                    std::span<const Profile> profiles) {
  auto forecaster = model.bind(profiles);
  if (!forecaster) {
    return tl::unexpected(std::move(forecaster.error()));
  }
  return create(std::move(*forecaster), profiles);
}

Result<Predictor> Predictor::create(std::unique_ptr<model::Forecaster> forecaster,
                                    std::span<const Profile> profiles) {
  Predictor predictor(std::move(forecaster), profiles);
  std::vector<Group> singles;
  singles.reserve(profiles.size());
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    singles.push_back({{.profile = i}});
  }
  const auto forecasts = predictor.forecaster_->forecast(singles, model::ForecastDetail::PointOnly);
  predictor.predicts_members_ =
      !forecasts.empty() && std::ranges::none_of(forecasts, [](const auto& forecast) {
        return forecast.members.empty();
      });
  predictor.predicts_sum_ =
      !forecasts.empty() &&
      std::ranges::all_of(forecasts, [](const auto& forecast) { return forecast.sum.has_value(); });
  predictor.solo_speeds_.reserve(profiles.size());
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (!predictor.predicts_members_) {
      predictor.solo_speeds_.push_back(profiles[i].exclusive_throughput);
      continue;
    }
    const double speed = forecasts[i].members.front().throughput;
    if (!(speed > 0.0 && std::isfinite(speed))) {
      return fail(
          ErrorCode::Unsupported,
          fmt::format("workload '{}': the model forecasts a solo speed of {}, so its slowdown is "
                      "undefined; check its profile, or train on data with similar workloads",
                      profiles[i].workload,
                      speed));
    }
    predictor.solo_speeds_.push_back(speed);
  }
  return predictor;
}

std::vector<double> Predictor::solo_speeds(const Group& group) const {
  std::vector<double> speeds(group.size());
  std::ranges::transform(group, speeds.begin(), [this](const GroupMember& member) {
    return solo_speeds_[member.profile];
  });
  return speeds;
}

std::vector<GroupForecast> Predictor::forecast(std::span<const Group> candidates,
                                               model::ForecastDetail detail) const {
  std::vector<GroupForecast> forecasts = forecaster_->forecast(candidates, detail);
  if (predicts_sum_ && !predicts_members_) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].size() == 1 && candidates[i].front().thread_limit == kAllThreads) {
        const double speed = solo_speeds_[candidates[i].front().profile];
        forecasts[i] = {};
        forecasts[i].sum = speed;
        forecasts[i].preference = speed;
      }
    }
  }
  return forecasts;
}

Result<void> Predictor::check_group(const Group& group) const {
  if (group.empty()) {
    return invalid_input("a group needs at least one workload");
  }
  for (const GroupMember& member : group) {
    if (member.profile >= profiles_.size()) {
      return invalid_input(fmt::format(
          "profile {} of a group: there are {} profiles", member.profile, profiles_.size()));
    }
    if (!(member.thread_limit > 0.0 && member.thread_limit <= kAllThreads)) {
      return invalid_input(fmt::format("thread limit {} of '{}': must be above 0 and at most 100 %",
                                       member.thread_limit,
                                       profiles_[member.profile].workload));
    }
  }
  return {};
}

Result<Prediction> Predictor::predict(const Group& group) const {
  if (auto checked = check_group(group); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  const std::array candidates = {group};
  const GroupForecast forecast =
      this->forecast(candidates, model::ForecastDetail::WithIntervals).front();
  Prediction prediction;
  prediction.sum = forecast.sum;
  prediction.sum90 = forecast.sum_interval90;
  if (predicts_members_) {
    double progress = 0.0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::size_t profile = group[i].profile;
      prediction.members.push_back(
          predict_member(group[i], profiles_[profile], solo_speeds_[profile], forecast.members[i]));
      progress += prediction.members.back().progress;
    }
    prediction.normalized_sum = progress;
  }
  return prediction;
}

Score Predictor::score(const Objective& objective,
                       const Group& group,
                       const GroupForecast& forecast) const {
  return score_group(
      objective, forecast, solo_speeds(group), member_weights(objective, group.size()));
}

}  // namespace carpool::predict
