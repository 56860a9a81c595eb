#include "assign/assignment.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "assign/exact_search.hpp"
#include "assign/group_memory.hpp"
#include "assign/group_values.hpp"
#include "assign/local_search.hpp"
#include "assign/pair_search.hpp"
#include "assign/subset_search.hpp"
#include "base/text/names.hpp"

namespace carpool::assign {
namespace {

constexpr std::array kMethods = {
    AssignMethodInfo{AssignMethod::Auto, "auto", "exact where that is quick, else local-search"},
    AssignMethodInfo{AssignMethod::Exact, "exact", "every grouping; up to 14 workloads"},
    AssignMethodInfo{AssignMethod::Matching, "matching", "exact for at most two per GPU"},
    AssignMethodInfo{AssignMethod::LocalSearch,
                     "local-search",
                     "greedy, then moves, swaps and repacking; any size"},
};

// Vertices of the matching problem, which takes 30 bytes times their square: Auto accepts half a
// second of search.
constexpr std::size_t kQuickVertices = 1'200;
constexpr std::size_t kMostVertices = 4'000;

Result<void> check_request(const predict::Predictor& predictor, const AssignmentRequest& request) {
  if (request.gpus == 0 || request.max_per_gpu == 0) {
    return invalid_input("an assignment needs at least one GPU and room for one workload on it");
  }
  for (const std::size_t profile : request.workloads) {
    if (profile >= predictor.profiles().size()) {
      return invalid_input(fmt::format(
          "workload to assign: profile {} of {} profiles", profile, predictor.profiles().size()));
    }
  }
  if (!predictor.predicts_sum() && !predictor.predicts_members() && !request.workloads.empty()) {
    return fail(
        ErrorCode::Unsupported,
        "this model only ranks groups, and its ranks cannot be added over GPUs; use a model "
        "that predicts throughput");
  }
  return check_capacity(request.memory_gib).and_then([&] {
    return predict::check_objective(request.objective, predictor.predicts_members());
  });
}

Result<AssignMethod> choose_method(const AssignmentRequest& request, std::size_t workloads) {
  const std::size_t vertices = PairSearch::vertices(workloads, request.gpus);
  switch (request.method) {
    case AssignMethod::Auto:
      if (workloads <= kMaxSubsetMembers) {
        return AssignMethod::Exact;
      }
      return request.max_per_gpu == 2 && vertices <= kQuickVertices ? AssignMethod::Matching
                                                                    : AssignMethod::LocalSearch;
    case AssignMethod::Exact:
      if (workloads > kMaxSubsetMembers) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("method 'exact' takes up to {} workloads, not {}; use 'matching' "
                                "or 'local-search'",
                                kMaxSubsetMembers,
                                workloads));
      }
      break;
    case AssignMethod::Matching:
      if (request.max_per_gpu != 2 || vertices > kMostVertices) {
        return fail(
            ErrorCode::Unsupported,
            fmt::format("method 'matching' takes 2 workloads per GPU and up to {} vertices, "
                        "not {} per GPU and {} vertices; use 'local-search'",
                        kMostVertices,
                        request.max_per_gpu,
                        vertices));
      }
      break;
    case AssignMethod::LocalSearch:
      break;
  }
  return request.method;
}

Grouping search(GroupValues& values, const AssignmentRequest& request, AssignMethod method) {
  const bool bottleneck = request.objective.kind == predict::ObjectiveKind::MaxMin;
  switch (method) {
    case AssignMethod::Exact: {
      const ExactSearch exact(values, request.gpus, request.max_per_gpu);
      return bottleneck ? exact.best_bottleneck() : exact.best_sum();
    }
    case AssignMethod::Matching: {
      const PairSearch pairs(values, request.gpus);
      return bottleneck ? pairs.best_bottleneck() : pairs.best_sum();
    }
    default:
      return local_search(values,
                          {.gpus = request.gpus,
                           .max_per_gpu = request.max_per_gpu,
                           .bottleneck = bottleneck,
                           .seed = request.seed});
  }
}

// Why a workload that fits on an empty GPU has no place.
std::string no_place_reason(const AssignmentRequest& request, const Assignment& assignment) {
  const bool full = assignment.groups.size() == request.gpus &&
                    std::ranges::all_of(assignment.groups, [&](const AssignedGroup& group) {
                      return group.workloads.size() == request.max_per_gpu;
                    });
  if (full) {
    return fmt::format(
        "every GPU is full: {} GPUs, at most {} workloads each", request.gpus, request.max_per_gpu);
  }
  std::string limits;
  if (request.memory_gib) {
    limits += fmt::format("fits into {:g} GiB", *request.memory_gib);
  }
  if (request.objective.floor) {
    limits += fmt::format(
        "{}keeps the floor {:.2f}", limits.empty() ? "" : " and ", *request.objective.floor);
  }
  return limits.empty() ? "the model has no usable forecast for it in a group"
                        : fmt::format("no GPU has room left where it {}", limits);
}

// Fills the answer with the groups, whose members are positions in `placed`, and full forecasts.
void fill_groups(const predict::Predictor& predictor,
                 const AssignmentRequest& request,
                 const Grouping& grouping,
                 std::span<const std::size_t> placed,
                 std::span<const double> all_weights,
                 Assignment& assignment) {
  std::vector<Group> groups;
  for (const std::vector<Member>& members : grouping) {
    AssignedGroup& assigned = assignment.groups.emplace_back();
    for (const Member member : members) {
      assigned.workloads.push_back(placed[member]);
    }
    std::ranges::sort(assigned.workloads);
    for (const std::size_t workload : assigned.workloads) {
      assigned.group.push_back({.profile = request.workloads[workload]});
    }
    groups.push_back(assigned.group);
  }
  auto forecasts = predictor.forecast(groups, model::ForecastDetail::WithIntervals);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    AssignedGroup& assigned = assignment.groups[i];
    std::vector<double> weights(assigned.workloads.size());
    std::ranges::transform(assigned.workloads, weights.begin(), [&](std::size_t workload) {
      return all_weights[workload];
    });
    assigned.forecast = std::move(forecasts[i]);
    assigned.score = predict::score_group(
        request.objective, assigned.forecast, predictor.solo_speeds(groups[i]), weights);
  }
}

double total_of(const Assignment& assignment, predict::ObjectiveKind kind) {
  double total = 0.0;
  double smallest = std::numeric_limits<double>::infinity();
  for (const AssignedGroup& group : assignment.groups) {
    total += group.score.value;
    smallest = std::min(smallest, group.score.value);
  }
  return kind == predict::ObjectiveKind::MaxMin && !assignment.groups.empty() ? smallest : total;
}

}  // namespace

std::span<const AssignMethodInfo> assign_methods() {
  return kMethods;
}

Result<AssignMethod> find_assign_method(std::string_view name) {
  return find_named(assign_methods(), "method", name).map([](const AssignMethodInfo* info) {
    return info->method;
  });
}

Result<Assignment> assign(const predict::Predictor& predictor, const AssignmentRequest& request) {
  if (auto checked = check_request(predictor, request); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  Assignment assignment;
  std::vector<std::size_t> placeable;  // positions in request.workloads
  std::vector<std::size_t> profiles;
  std::vector<double> weights;
  // By position in the whole list: a workload without a place does not shift the others.
  const std::vector<double> all_weights =
      predict::member_weights(request.objective, request.workloads.size());
  for (std::size_t i = 0; i < request.workloads.size(); ++i) {
    const std::size_t profile = request.workloads[i];
    const double gib = memory_gib(predictor.profiles()[profile]).value_or(0.0);
    if (request.memory_gib && gib > *request.memory_gib) {
      assignment.left_over.push_back(
          {i, fmt::format("needs {:.1f} GiB, a GPU has {:g}", gib, *request.memory_gib)});
    } else {
      placeable.push_back(i);
      profiles.push_back(profile);
      weights.push_back(all_weights[i]);
    }
  }
  const auto method = choose_method(request, placeable.size());
  if (!method) {
    return tl::unexpected(method.error());
  }
  GroupValues values(predictor, profiles, weights, request.objective, request.memory_gib);
  const Grouping grouping = search(values, request, *method);
  fill_groups(predictor, request, grouping, placeable, all_weights, assignment);
  assignment.total = total_of(assignment, request.objective.kind);
  assignment.method = *method;
  assignment.optimal = *method != AssignMethod::LocalSearch;

  std::vector<bool> has_place(placeable.size(), false);
  for (const std::vector<Member>& members : grouping) {
    for (const Member member : members) {
      has_place[member] = true;
    }
  }
  for (std::size_t i = 0; i < placeable.size(); ++i) {
    if (!has_place[i]) {
      assignment.left_over.push_back({placeable[i], no_place_reason(request, assignment)});
    }
  }
  std::ranges::sort(assignment.left_over, {}, &LeftOver::workload);
  return assignment;
}

}  // namespace carpool::assign
