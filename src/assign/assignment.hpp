// Assigns N workloads to G GPUs: which workloads share a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/forecast.hpp"
#include "core/group.hpp"
#include "predict/objective.hpp"
#include "predict/predictor.hpp"

namespace carpool::assign {

enum class AssignMethod { Auto, Exact, Matching, LocalSearch };

struct AssignMethodInfo {
  AssignMethod method = AssignMethod::Auto;
  std::string_view name;
  std::string_view description;
};

[[nodiscard]] std::span<const AssignMethodInfo> assign_methods();

// Unknown name: an error that lists the known ones.
[[nodiscard]] Result<AssignMethod> find_assign_method(std::string_view name);

struct AssignmentRequest {
  std::vector<std::size_t> workloads;  // profiles of the predictor; one may occur twice
  std::size_t gpus = 1;
  std::size_t max_per_gpu = 2;
  std::optional<double> memory_gib = std::nullopt;  // of each GPU; empty: no limit
  predict::Objective objective = {};                // Weighted: by position in `workloads`
  AssignMethod method = AssignMethod::Auto;
  std::uint64_t seed = 0;  // of the local search
};

struct AssignedGroup {
  std::vector<std::size_t> workloads;  // positions in AssignmentRequest::workloads, ascending
  Group group;                         // the same as group members
  GroupForecast forecast;              // with intervals where the model has them
  predict::Score score;
};

struct LeftOver {
  std::size_t workload = 0;  // position in AssignmentRequest::workloads
  std::string reason;
};

struct Assignment {
  std::vector<AssignedGroup> groups;  // one per GPU in use
  std::vector<LeftOver> left_over;
  double total = 0.0;  // of the objective: sum over GPUs, or the smallest progress for max-min
  AssignMethod method = AssignMethod::Auto;  // the one that was used
  // No assignment that places as many workloads reaches a higher total (by matching: up to a
  // millionth of the range of pair values for each pair).
  bool optimal = false;
};

// Places as many workloads as memory, floor and max_per_gpu allow, and among such assignments looks
// for the best by the objective. A group may have one member. Fails when the method does not
// support the request, or the model only ranks.
[[nodiscard]] Result<Assignment> assign(const predict::Predictor& predictor,
                                        const AssignmentRequest& request);

}  // namespace carpool::assign
