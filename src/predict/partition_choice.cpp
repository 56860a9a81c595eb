#include "predict/partition_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace carpool::predict {
namespace {

// Scores nearer than this, relative, count as equal.
constexpr double kTie = 1e-9;
constexpr int kStep = 10;  // percent; the grid of the public measurements
constexpr int kWhole = 100;

struct ScoredLimits {
  ThreadLimits limits;
  Score score;
};

double restriction(const ThreadLimits& limits) {
  return kAllThreads * static_cast<double>(limits.size()) -
         std::accumulate(limits.begin(), limits.end(), 0.0);
}

bool preferable(const ScoredLimits& left, const ScoredLimits& right) {
  const auto rank = [](const Score& score) {
    return score.feasible ? score.value : score.worst_progress.value_or(0.0);
  };
  const double scale = std::max(std::abs(rank(left.score)), std::abs(rank(right.score)));
  const bool tie = left.score.feasible == right.score.feasible &&
                   std::abs(rank(left.score) - rank(right.score)) <= kTie * scale;
  if (!tie) {
    return better(left.score, right.score);
  }
  const double less = restriction(left.limits);
  const double more = restriction(right.limits);
  return less < more || (less == more && left.limits > right.limits);
}

double relative_gain(const Score& score, const Score& base) {
  return base.value > 0.0 ? score.value / base.value - 1.0 : 0.0;
}

Group with_limits(const Group& members, const ThreadLimits& limits) {
  Group group = members;
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i].thread_limit = limits[i];
  }
  return group;
}

// Appends every way to divide `left` percent among the members after `dealt`, at least a step each.
void divide(int left, std::size_t members, ThreadLimits& dealt, std::vector<ThreadLimits>& out) {
  const auto waiting = static_cast<int>(members - dealt.size());
  if (waiting == 1) {
    out.push_back(dealt);
    out.back().push_back(left);
    return;
  }
  for (int share = kStep; share <= left - kStep * (waiting - 1); share += kStep) {
    dealt.push_back(share);
    divide(left - share, members, dealt, out);
    dealt.pop_back();
  }
}

Result<void> check_candidates(std::span<const ThreadLimits> candidates, std::size_t members) {
  if (candidates.empty()) {
    return invalid_input("no MPS partition to choose from");
  }
  for (const ThreadLimits& limits : candidates) {
    if (limits.size() != members) {
      return invalid_input(
          fmt::format("an MPS partition has {} limits for {} members", limits.size(), members));
    }
    for (const double limit : limits) {
      if (!(limit > 0.0 && limit <= kAllThreads)) {
        return invalid_input(
            fmt::format("thread limit {}: must be above 0 and at most 100 %", limit));
      }
    }
  }
  return {};
}

ScoredLimits best_of(const Predictor& predictor,
                     const Group& members,
                     const Objective& objective,
                     std::span<const ThreadLimits> candidates) {
  std::vector<Group> groups;
  groups.reserve(candidates.size());
  for (const ThreadLimits& limits : candidates) {
    groups.push_back(with_limits(members, limits));
  }
  const auto forecasts = predictor.forecaster().forecast(groups, model::ForecastDetail::PointOnly);
  ScoredLimits best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    ScoredLimits candidate{candidates[i], predictor.score(objective, groups[i], forecasts[i])};
    if (i == 0 || preferable(candidate, best)) {
      best = std::move(candidate);
    }
  }
  return best;
}

}  // namespace

std::vector<ThreadLimits> usual_partitions(std::size_t members) {
  std::vector<ThreadLimits> partitions = {ThreadLimits(members, kAllThreads)};
  if (members > 1 && members <= kWhole / kStep) {
    ThreadLimits dealt;
    divide(kWhole, members, dealt, partitions);
  }
  return partitions;
}

double PartitionChoice::gain_over_unlimited() const {
  return relative_gain(score, unlimited);
}

double PartitionChoice::gain_over_equal() const {
  return relative_gain(score, equal);
}

Result<PartitionChoice> choose_partition(const Predictor& predictor,
                                         const Group& members,
                                         const Objective& objective,
                                         std::span<const ThreadLimits> candidates) {
  auto checked =
      predictor.check_group(members)
          .and_then([&] { return check_objective(objective, predictor.predicts_members()); })
          .and_then([&] { return check_candidates(candidates, members.size()); });
  if (!checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  const ScoredLimits best = best_of(predictor, members, objective, candidates);
  const double share = std::floor(kAllThreads / static_cast<double>(members.size()));
  const std::array groups = {
      with_limits(members, best.limits),
      with_limits(members, ThreadLimits(members.size(), kAllThreads)),
      with_limits(members, ThreadLimits(members.size(), std::max(share, 1.0)))};
  auto forecasts = predictor.forecaster().forecast(groups, model::ForecastDetail::WithIntervals);
  return PartitionChoice{.group = groups[0],
                         .forecast = std::move(forecasts[0]),
                         .score = best.score,
                         .unlimited = predictor.score(objective, groups[1], forecasts[1]),
                         .equal = predictor.score(objective, groups[2], forecasts[2])};
}

}  // namespace carpool::predict
