#include "evaluate/partition_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "evaluate/group_worth.hpp"

namespace carpool::evaluate {
namespace {

constexpr double kSecondaryWeight = 0.25;
constexpr double kFloor = 0.3;

std::vector<double> limits_of(const Group& group) {
  std::vector<double> limits;
  limits.reserve(group.size());
  for (const GroupMember& member : group) {
    limits.push_back(member.thread_limit);
  }
  return limits;
}

std::size_t position_of_best(std::span<const predict::Score> scores) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) {
    if (predict::better(scores[i], scores[best])) {
      best = i;
    }
  }
  return best;
}

// Total regret of setting the same limits in all comparisons.
double fixed_cost(const dataset::Dataset& dataset,
                  const predict::Objective& objective,
                  std::span<const PartitionComparison> comparisons,
                  std::span<const double> limits) {
  double total = 0.0;
  for (const PartitionComparison& comparison : comparisons) {
    if (comparison.key.size() != limits.size()) {
      continue;
    }
    if (const auto outcome =
            judge_pick(dataset, objective, comparison, pick_nearest(comparison, limits))) {
      total += outcome->floor_missed ? 1.0 : outcome->regret;
    }
  }
  return total;
}

}  // namespace

std::vector<NamedObjective> partition_objectives() {
  const auto plain = [](predict::ObjectiveKind kind) {
    return NamedObjective{.name = std::string(predict::objective_name(kind)),
                          .objective = {.kind = kind, .floor = std::nullopt}};
  };
  NamedObjective weighted = plain(predict::ObjectiveKind::Weighted);
  weighted.objective.weights = {1.0, kSecondaryWeight};
  NamedObjective floored = plain(predict::ObjectiveKind::Throughput);
  floored.name += ", floor 0.3";
  floored.objective.floor = kFloor;
  return {plain(predict::ObjectiveKind::Throughput),
          plain(predict::ObjectiveKind::Normalized),
          plain(predict::ObjectiveKind::MaxMin),
          weighted,
          floored};
}

GroupKey group_key(const Group& group) {
  GroupKey key;
  key.reserve(group.size());
  for (const GroupMember& member : group) {
    key.push_back(member.profile);
  }
  std::sort(key.begin(), key.end());
  return key;
}

std::vector<PartitionComparison> partition_comparisons(
    std::span<const dataset::GroupRow> partitions, std::size_t least_partitions) {
  std::map<std::pair<std::string, std::vector<std::size_t>>, PartitionComparison> comparisons;
  for (const dataset::GroupRow& row : partitions) {
    std::vector<std::size_t> ordered;
    for (const GroupMember& member : row.members) {
      ordered.push_back(member.profile);
    }
    PartitionComparison& comparison = comparisons[{row.campaign, std::move(ordered)}];
    comparison.campaign = row.campaign;
    comparison.key = group_key(row.members);
    comparison.rows.push_back(&row);
  }
  std::vector<PartitionComparison> large_enough;
  for (auto& [name, comparison] : comparisons) {
    std::set<std::vector<double>> different;
    for (const dataset::GroupRow* row : comparison.rows) {
      different.insert(limits_of(row->members));
    }
    if (different.size() >= least_partitions) {
      large_enough.push_back(std::move(comparison));
    }
  }
  return large_enough;
}

std::optional<PartitionOutcome> judge_pick(const dataset::Dataset& dataset,
                                           const predict::Objective& objective,
                                           const PartitionComparison& comparison,
                                           std::size_t pick) {
  std::vector<predict::Score> measured;
  measured.reserve(comparison.rows.size());
  for (const dataset::GroupRow* row : comparison.rows) {
    measured.push_back(score_against_recorded(dataset, objective, as_measured(*row), row->members));
  }
  const predict::Score& best = measured[position_of_best(measured)];
  if (!best.feasible || best.value <= 0.0) {
    return std::nullopt;
  }
  if (!measured[pick].feasible) {
    return PartitionOutcome{.regret = 1.0, .floor_missed = true};
  }
  return PartitionOutcome{.regret = 1.0 - measured[pick].value / best.value, .floor_missed = false};
}

std::size_t pick_by_forecast(const dataset::Dataset& dataset,
                             const predict::Objective& objective,
                             const PartitionComparison& comparison,
                             std::span<const GroupForecast> forecasts) {
  std::vector<predict::Score> predicted;
  predicted.reserve(forecasts.size());
  for (std::size_t i = 0; i < forecasts.size(); ++i) {
    predicted.push_back(
        score_against_recorded(dataset, objective, forecasts[i], comparison.rows[i]->members));
  }
  return position_of_best(predicted);
}

std::optional<std::size_t> pick_measured(const PartitionComparison& comparison,
                                         std::span<const double> limits) {
  constexpr double kSame = 1.0;  // equal shares of three are 33.3 %, and measured at 33 %
  const std::size_t nearest = pick_nearest(comparison, limits);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (std::abs(comparison.rows[nearest]->members[i].thread_limit - limits[i]) > kSame) {
      return std::nullopt;
    }
  }
  return nearest;
}

std::size_t pick_nearest(const PartitionComparison& comparison, std::span<const double> limits) {
  std::size_t nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t row = 0; row < comparison.rows.size(); ++row) {
    double distance = 0.0;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      distance += std::abs(comparison.rows[row]->members[i].thread_limit - limits[i]);
    }
    if (distance < least) {
      least = distance;
      nearest = row;
    }
  }
  return nearest;
}

std::vector<double> best_fixed_partition(const dataset::Dataset& dataset,
                                         const predict::Objective& objective,
                                         std::span<const PartitionComparison> comparisons,
                                         std::size_t group_size) {
  std::set<std::vector<double>> candidates;
  for (const PartitionComparison& comparison : comparisons) {
    for (const dataset::GroupRow* row : comparison.rows) {
      if (row->members.size() == group_size) {
        candidates.insert(limits_of(row->members));
      }
    }
  }
  std::vector<double> best(group_size, kAllThreads);
  double least = fixed_cost(dataset, objective, comparisons, best);
  for (const std::vector<double>& limits : candidates) {
    if (const double cost = fixed_cost(dataset, objective, comparisons, limits); cost < least) {
      least = cost;
      best = limits;
    }
  }
  return best;
}

}  // namespace carpool::evaluate
