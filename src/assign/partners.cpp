#include "assign/partners.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "assign/group_memory.hpp"

namespace carpool::assign {
namespace {

std::vector<std::size_t> profiles_of(const Group& group) {
  std::vector<std::size_t> profiles(group.size());
  std::ranges::transform(group, profiles.begin(), &GroupMember::profile);
  return profiles;
}

std::string describe_slowdown(std::string_view target_name, double slowdown) {
  // Two decimals are shown: a slowdown that reads "1.00x" is none.
  return slowdown < 1.005 ? fmt::format("does not slow {}", target_name)
                          : fmt::format("slows {} {:.2f}x", target_name, slowdown);
}

// The forecast of each member, and whether it lies outside the training data.
std::vector<std::string> describe_members(const predict::Predictor& predictor,
                                          const Group& group,
                                          const GroupForecast& forecast,
                                          std::string_view target_name) {
  std::vector<std::string> reasons;
  std::vector<std::string_view> outside;
  const std::vector<double> solo_speeds = predictor.solo_speeds(group);
  const auto& members = forecast.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string& name = predictor.profiles()[group[i].profile].workload;
    if (i > 0) {
      reasons.push_back(fmt::format("{} runs at {:.0f} % of its solo speed",
                                    name,
                                    100.0 * members[i].throughput / solo_speeds[i]));
    }
    if (members[i].extrapolated) {
      outside.emplace_back(name);
    }
  }
  if (members.size() > 1) {
    reasons.push_back(describe_slowdown(target_name, solo_speeds[0] / members[0].throughput));
  }
  if (!outside.empty()) {
    reasons.push_back(fmt::format("outside training data: {}", fmt::join(outside, ", ")));
  }
  return reasons;
}

// Puts the reasons from the forecast before those about memory.
void explain(const predict::Predictor& predictor,
             const predict::Objective& objective,
             std::string_view target_name,
             const GroupForecast& forecast,
             RankedGroup& ranked) {
  std::vector<std::string> reasons;
  if (!ranked.score.feasible) {
    const GroupMember& worst = ranked.group[ranked.score.worst_member];
    const double progress = ranked.score.worst_progress.value_or(0.0);
    reasons.push_back(objective.floor && std::isfinite(progress)
                          ? fmt::format("floor {:.2f} broken by {} ({:.2f})",
                                        *objective.floor,
                                        predictor.profiles()[worst.profile].workload,
                                        progress)
                          : "the model has no usable forecast");
  }
  std::ranges::move(describe_members(predictor, ranked.group, forecast, target_name),
                    std::back_inserter(reasons));
  ranked.reasons.insert(ranked.reasons.begin(), reasons.begin(), reasons.end());
}

// False: the group is over memory; it gets the lowest score and the reason.
bool check_memory(const predict::Predictor& predictor,
                  std::optional<double> memory_gib,
                  RankedGroup& ranked) {
  if (!memory_gib) {
    return true;
  }
  const MemoryUse use = memory_use(predictor.profiles(), profiles_of(ranked.group));
  ranked.reasons.push_back(describe_memory(predictor.profiles(), use, *memory_gib));
  if (use.fits(memory_gib)) {
    return true;
  }
  ranked.reasons.back().insert(0, "does not fit: ");
  ranked.score.feasible = false;
  ranked.score.worst_progress = -std::numeric_limits<double>::infinity();
  return false;
}

// Best first; over memory last; equals in their original order.
std::vector<RankedGroup> sorted(std::vector<RankedGroup> groups) {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t left, std::size_t right) {
    const RankedGroup& first = groups[left];
    const RankedGroup& second = groups[right];
    if (first.forecast.has_value() != second.forecast.has_value()) {
      return first.forecast.has_value();
    }
    return predict::better(first.score, second.score) ||
           (!predict::better(second.score, first.score) && left < right);
  });
  std::vector<RankedGroup> ranked;
  ranked.reserve(groups.size());
  for (const std::size_t index : order) {
    ranked.push_back(std::move(groups[index]));
  }
  return ranked;
}

void extend_choices(std::span<const std::size_t> pool,
                    std::size_t count,
                    std::vector<std::size_t>& chosen,
                    std::vector<std::vector<std::size_t>>& all) {
  if (count == 0) {
    all.push_back(chosen);
    return;
  }
  for (std::size_t i = 0; i + count <= pool.size(); ++i) {
    chosen.push_back(pool[i]);
    extend_choices(pool.subspan(i + 1), count - 1, chosen, all);
    chosen.pop_back();
  }
}

}  // namespace

Result<std::vector<RankedGroup>> rank_groups(const predict::Predictor& predictor,
                                             std::span<const Group> groups,
                                             const predict::Objective& objective,
                                             std::optional<double> memory_gib,
                                             std::string_view target_name) {
  auto possible = check_capacity(memory_gib).and_then([&] {
    return predict::check_objective(objective, predictor.predicts_members());
  });
  if (!possible) {
    return tl::unexpected(std::move(possible.error()));
  }
  std::vector<RankedGroup> ranked;
  std::vector<std::size_t> fitting;  // places in `ranked`, whose order is that of `groups`
  std::vector<Group> asked;
  for (const Group& group : groups) {
    if (auto checked = predictor.check_group(group); !checked) {
      return tl::unexpected(std::move(checked.error()));
    }
    ranked.push_back({.group = group});
    if (check_memory(predictor, memory_gib, ranked.back())) {
      fitting.push_back(ranked.size() - 1);
      asked.push_back(group);
    }
  }
  auto forecasts = predictor.forecast(asked, model::ForecastDetail::WithIntervals);
  for (std::size_t i = 0; i < fitting.size(); ++i) {
    RankedGroup& group = ranked[fitting[i]];
    group.score = predictor.score(objective, group.group, forecasts[i]);
    explain(predictor, objective, target_name, forecasts[i], group);
    group.forecast = std::move(forecasts[i]);
  }
  return sorted(std::move(ranked));
}

Result<std::vector<RankedGroup>> rank_partners(const predict::Predictor& predictor,
                                               const PartnerRequest& request) {
  std::vector<Group> groups;
  groups.reserve(request.candidates.size());
  for (const std::vector<std::size_t>& partners : request.candidates) {
    if (partners.empty()) {
      return invalid_input("a candidate group has no member beside the target");
    }
    Group& group = groups.emplace_back();
    group.push_back({.profile = request.target});
    for (const std::size_t partner : partners) {
      group.push_back({.profile = partner});
    }
  }
  return rank_groups(predictor, groups, request.objective, request.memory_gib, "you");
}

std::vector<std::vector<std::size_t>> choices(std::span<const std::size_t> pool,
                                              std::size_t count) {
  std::vector<std::vector<std::size_t>> all;
  std::vector<std::size_t> chosen;
  if (count > 0) {
    extend_choices(pool, count, chosen, all);
  }
  return all;
}

}  // namespace carpool::assign
