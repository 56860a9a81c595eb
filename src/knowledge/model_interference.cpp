#include "knowledge/model_interference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace carpool::knowledge {
namespace {

// Metrics of profiles that hold the SM activity, best first, with their value for a full GPU.
struct ActivityMetric {
  std::string_view name;
  double full;
};
constexpr std::array kActivityMetrics = {ActivityMetric{"sm_active", 1.0},
                                         ActivityMetric{"sm_busy_pct", 100.0}};
constexpr double kSameForecast = 1e-6;

std::optional<double> activity(const Profile& profile) {
  for (const ActivityMetric& metric : kActivityMetrics) {
    if (const auto found = profile.metrics.find(metric.name); found != profile.metrics.end()) {
      return std::clamp(found->second / metric.full, 0.0, 1.0);
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<ModelInterference>> ModelInterference::create(
    std::shared_ptr<const model::ThroughputModel> model, std::vector<Profile> profiles) {
  auto made = std::unique_ptr<ModelInterference>(new ModelInterference());
  made->model_ = std::move(model);
  made->profiles_ = std::move(profiles);
  auto predictor = predict::Predictor::create(*made->model_, made->profiles_);
  if (!predictor) {
    return tl::unexpected(predictor.error());
  }
  if (!predictor->predicts_members()) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("model {} predicts the sum of a group, not its members; use a model that "
                    "predicts members, such as share",
                    made->model_->card().kind));
  }
  made->predictor_ = std::make_unique<predict::Predictor>(std::move(*predictor));
  std::map<std::string, double> activities;
  for (std::size_t i = 0; i < made->profiles_.size(); ++i) {
    made->by_name_.emplace(made->profiles_[i].workload, i);
    if (const auto busy = activity(made->profiles_[i])) {
      activities.emplace(made->profiles_[i].workload, *busy);
    }
  }
  made->by_activity_ = std::make_unique<ActivityInterference>(std::move(activities));
  if (!made->profiles_.empty()) {
    const auto free = made->ask({{.profile = 0}, {.profile = 0}});
    const auto limited = made->ask({{.profile = 0, .thread_limit = 30.0}, {.profile = 0}});
    made->knows_limits_ = std::abs(free[0] - limited[0]) > kSameForecast;
  }
  return made;
}

std::vector<double> ModelInterference::ask(const Group& group) const {
  const auto forecasts =
      predictor_->forecast(std::span(&group, 1), model::ForecastDetail::PointOnly);
  std::vector<double> progress;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const double solo = predictor_->solo_speeds()[group[i].profile];
    const double together = forecasts.front().members[i].throughput;
    progress.push_back(solo > 0.0 ? std::clamp(together / solo, 0.0, 1.0) : 1.0);
  }
  return progress;
}

std::vector<double> ModelInterference::progress(std::span<const InterferenceMember> members) const {
  if (members.size() < 2) {
    return std::vector<double>(members.size(), 1.0);
  }
  Group group;
  for (const InterferenceMember& member : members) {
    const auto found = by_name_.find(workload_name(member.workload));
    if (found == by_name_.end()) {
      return by_activity_->progress(members);
    }
    group.push_back({.profile = found->second, .thread_limit = member.thread_limit});
  }
  return ask(group);
}

std::optional<double> ModelInterference::sm_active(const std::string& workload) const {
  return by_activity_->sm_active(workload);
}

}  // namespace carpool::knowledge
