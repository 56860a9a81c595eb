#include "assign/grow_group.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace carpool::assign {
namespace {

Group group_of(std::span<const std::size_t> profiles) {
  Group group;
  for (const std::size_t profile : profiles) {
    group.push_back({.profile = profile});
  }
  return group;
}

// Why the best addition is refused; empty: it is not.
std::string refusal(const predict::Predictor& predictor,
                    const GrowRequest& request,
                    const predict::Score& current,
                    const RankedGroup& best) {
  const std::string& name = predictor.profiles()[best.group.back().profile].workload;
  if (!best.forecast) {
    return fmt::format("no remaining workload fits: with {}, {}", name, best.reasons.front());
  }
  if (!best.score.feasible) {
    return fmt::format(
        "no remaining workload keeps the floor: with {}, {}", name, best.reasons.front());
  }
  if (request.objective.kind != predict::ObjectiveKind::MaxMin &&
      best.score.value <= current.value) {
    return fmt::format("objective '{}' no longer rises: {:.4g} now, {:.4g} with {}",
                       predict::objective_name(request.objective.kind),
                       current.value,
                       best.score.value,
                       name);
  }
  return {};
}

std::vector<Group> one_larger(const Group& group, std::span<const std::size_t> pool) {
  std::vector<Group> candidates(pool.size(), group);
  for (std::size_t i = 0; i < pool.size(); ++i) {
    candidates[i].push_back({.profile = pool[i]});
  }
  return candidates;
}

}  // namespace

Result<GrownGroup> grow_group(const predict::Predictor& predictor, const GrowRequest& request) {
  if (!predictor.predicts_sum() && !predictor.predicts_members()) {
    return fail(
        ErrorCode::Unsupported,
        "this model only ranks groups of one size; use one that predicts throughput to grow a "
        "group");
  }
  const std::array start = {group_of(request.start)};
  if (auto checked = predictor.check_group(start[0]); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  const std::string& target = predictor.profiles()[request.start.front()].workload;
  const auto rank = [&](std::span<const Group> groups) {
    return rank_groups(predictor, groups, request.objective, request.memory_gib, target);
  };
  auto first = rank(start);
  if (!first) {
    return tl::unexpected(std::move(first.error()));
  }
  GrownGroup grown{start[0], std::move(first->front()), {}, {}};
  if (!grown.start.score.feasible) {
    grown.stopped_because = "the group to start from: " + grown.start.reasons.front();
    return grown;
  }
  std::vector<std::size_t> pool = request.pool;
  predict::Score current = grown.start.score;
  while (grown.stopped_because.empty()) {
    if (grown.group.size() >= request.max_size) {
      grown.stopped_because = fmt::format("size limit of {} reached", request.max_size);
      break;
    }
    if (pool.empty()) {
      grown.stopped_because = "no workload left to add";
      break;
    }
    auto ranked = rank(one_larger(grown.group, pool));
    if (!ranked) {
      return tl::unexpected(std::move(ranked.error()));
    }
    RankedGroup& best = ranked->front();
    grown.stopped_because = refusal(predictor, request, current, best);
    if (grown.stopped_because.empty()) {
      pool.erase(std::ranges::find(pool, best.group.back().profile));
      current = best.score;
      grown.group = best.group;
      grown.steps.push_back(std::move(best));
    }
  }
  return grown;
}

}  // namespace carpool::assign
