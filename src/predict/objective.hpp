// What "better" means for a group: pure functions from a forecast to a score.
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
  // No member may run below this share of its own speed, 0 to 1.
  std::optional<double> floor = std::nullopt;
  // For Weighted alone. Member i has the i-th weight, members past the end the last one: {1, x} is
  // "one primary and x secondary", the primary being the first member.
  std::vector<double> weights = {1.0, 0.5};
};

// The weights of so many members; all 1 unless the objective is Weighted.
[[nodiscard]] std::vector<double> member_weights(const Objective& objective, std::size_t members);

// Floor and weights in range, and nothing asked that a model which predicts the sum alone cannot
// say: such a model serves Throughput without a floor.
[[nodiscard]] Result<void> check_objective(const Objective& objective, bool predicts_members);

// How good one group is. A group that breaks the floor is infeasible: worse than any feasible one,
// and among its like the better the nearer its worst member comes to the floor.
struct Score {
  bool feasible = true;
  double value = 0.0;
  std::optional<double> worst_progress;  // smallest T_i / E_i; empty: only the sum is predicted
  std::size_t worst_member = 0;          // whose that is
};

[[nodiscard]] bool better(const Score& left, const Score& right);

// The score of a group whose member i is forecast to run at T_i beside the others:
//   Throughput  sum T_i             (the preference, for a model that only ranks)
//   Normalized  sum T_i / E_i
//   MaxMin      min T_i / E_i
//   Weighted    sum w_i T_i / E_i
// `alone` holds each member's reference speed E_i. It is the model's own forecast of the workload
// alone (Predictor::alone), not the recorded exclusive throughput: recordings can be stale or come
// from another campaign, and then T_i / E_i would compare two machines. `weights` as from
// member_weights(). The objective must have passed check_objective(). A forecast that is not a
// finite number is infeasible.
[[nodiscard]] Score score_group(const Objective& objective,
                                const GroupForecast& forecast,
                                std::span<const double> alone,
                                std::span<const double> weights);

}  // namespace carpool::predict
