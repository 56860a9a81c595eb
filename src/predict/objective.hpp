// Objectives: pure functions from a forecast to the score of a group.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/forecast.hpp"

namespace carpool::predict {

enum class ObjectiveKind { Throughput, Normalized, MaxMin, Weighted };

struct ObjectiveInfo {
  ObjectiveKind kind = ObjectiveKind::Throughput;
  std::string_view name;
  std::string_view description;
};

[[nodiscard]] std::span<const ObjectiveInfo> objective_kinds();

// Unknown name: an error that lists the known ones.
[[nodiscard]] Result<ObjectiveKind> find_objective(std::string_view name);

[[nodiscard]] std::string_view objective_name(ObjectiveKind kind);

struct Objective {
  ObjectiveKind kind = ObjectiveKind::Throughput;
  // No member may run below this share of its solo speed, 0 to 1.
  std::optional<double> floor = std::nullopt;
  // Only for Weighted. Member i has the i-th weight, members past the end the last one: {1, x} is
  // one primary, the first member, and secondaries of weight x.
  std::vector<double> weights = {1.0, 0.5};
};

// One weight per member; all 1 unless the objective is Weighted.
[[nodiscard]] std::vector<double> member_weights(const Objective& objective, std::size_t members);

// Checks the range of floor and weights, and that the model supports the objective: one that
// predicts only the sum supports Throughput without a floor.
[[nodiscard]] Result<void> check_objective(const Objective& objective, bool predicts_members);

// The score of one group. A group that breaks the floor is infeasible: worse than any feasible one,
// and better the nearer its worst member is to the floor.
struct Score {
  bool feasible = true;
  double value = 0.0;
  std::optional<double> worst_progress;  // smallest T_i / E_i; empty: only the sum is predicted
  std::size_t worst_member = 0;          // the member with that progress
};

[[nodiscard]] bool better(const Score& left, const Score& right);

// The score of a group whose member i is forecast to run at T_i beside the others:
//   Throughput  sum T_i             (the preference, for a model that only ranks)
//   Normalized  sum T_i / E_i
//   MaxMin      min T_i / E_i
//   Weighted    sum w_i T_i / E_i
// `solo_speeds` holds E_i of each member: the solo speed that the model forecasts
// (Predictor::solo_speeds), not the recorded exclusive throughput, which can be stale or come from
// another campaign. `weights` as from member_weights(). The objective must have passed
// check_objective(). A forecast that is not a finite number is infeasible.
[[nodiscard]] Score score_group(const Objective& objective,
                                const GroupForecast& forecast,
                                std::span<const double> solo_speeds,
                                std::span<const double> weights);

}  // namespace carpool::predict
