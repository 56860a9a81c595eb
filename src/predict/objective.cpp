#include "predict/objective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "base/text/names.hpp"

namespace carpool::predict {
namespace {

constexpr std::array kObjectives = {
    ObjectiveInfo{ObjectiveKind::Throughput, "throughput", "sum of raw throughputs, as published"},
    ObjectiveInfo{ObjectiveKind::Normalized,
                  "normalized",
                  "sum of the progress of the members: speed / solo speed"},
    ObjectiveInfo{ObjectiveKind::MaxMin, "max-min", "smallest progress of any member"},
    ObjectiveInfo{ObjectiveKind::Weighted,
                  "weighted",
                  "normalized with weights: one primary, secondaries weigh less"},
};

double group_value(const Objective& objective,
                   const GroupForecast& forecast,
                   std::span<const double> solo_speeds,
                   std::span<const double> weights) {
  if (objective.kind == ObjectiveKind::Throughput) {
    return forecast.sum.value_or(forecast.preference);
  }
  double value = 0.0;
  for (std::size_t i = 0; i < forecast.members.size(); ++i) {
    value += weights[i] * forecast.members[i].throughput / solo_speeds[i];
  }
  return value;
}

}  // namespace

std::span<const ObjectiveInfo> objective_kinds() {
  return kObjectives;
}

Result<ObjectiveKind> find_objective(std::string_view name) {
  return find_named(objective_kinds(), "objective", name).map([](const ObjectiveInfo* info) {
    return info->kind;
  });
}

std::string_view objective_name(ObjectiveKind kind) {
  return std::ranges::find(kObjectives, kind, &ObjectiveInfo::kind)->name;
}

std::vector<double> member_weights(const Objective& objective, std::size_t members) {
  std::vector<double> weights(members, 1.0);
  if (objective.kind == ObjectiveKind::Weighted && !objective.weights.empty()) {
    for (std::size_t i = 0; i < members; ++i) {
      weights[i] = objective.weights[std::min(i, objective.weights.size() - 1)];
    }
  }
  return weights;
}

Result<void> check_objective(const Objective& objective, bool predicts_members) {
  if (objective.floor && !(*objective.floor >= 0.0 && *objective.floor <= 1.0)) {
    return invalid_input(fmt::format(
        "floor {}: must lie between 0 and 1, a share of the solo speed", *objective.floor));
  }
  if (objective.kind == ObjectiveKind::Weighted) {
    const auto usable = [](double weight) { return std::isfinite(weight) && weight >= 0.0; };
    const auto counts = [](double weight) { return weight > 0.0; };
    if (!std::ranges::all_of(objective.weights, usable) ||
        std::ranges::none_of(objective.weights, counts)) {
      return invalid_input(
          "objective 'weighted' needs weights that are zero or more, one of them above zero");
    }
  }
  if (predicts_members || (objective.kind == ObjectiveKind::Throughput && !objective.floor)) {
    return {};
  }
  return fail(
      ErrorCode::Unsupported,
      fmt::format("{} needs the throughput of each member, and this model predicts only "
                  "the sum; use objective 'throughput' without a floor, or another model",
                  objective.floor ? std::string("a floor")
                                  : fmt::format("objective '{}'", objective_name(objective.kind))));
}

bool better(const Score& left, const Score& right) {
  if (left.feasible != right.feasible) {
    return left.feasible;
  }
  return left.feasible ? left.value > right.value : left.worst_progress > right.worst_progress;
}

Score score_group(const Objective& objective,
                  const GroupForecast& forecast,
                  std::span<const double> solo_speeds,
                  std::span<const double> weights) {
  Score score;
  double total = 0.0;
  for (std::size_t i = 0; i < forecast.members.size(); ++i) {
    const double progress = forecast.members[i].throughput / solo_speeds[i];
    total += progress;
    if (!score.worst_progress || progress < *score.worst_progress) {
      score.worst_progress = progress;
      score.worst_member = i;
    }
  }
  score.value = objective.kind == ObjectiveKind::MaxMin && score.worst_progress
                    ? *score.worst_progress
                    : group_value(objective, forecast, solo_speeds, weights);
  if (!std::isfinite(score.value) || !std::isfinite(total)) {
    score.feasible = false;
    score.worst_progress = -std::numeric_limits<double>::infinity();
  } else if (objective.floor && score.worst_progress) {
    score.feasible = *score.worst_progress >= *objective.floor;
  }
  return score;
}

}  // namespace carpool::predict
