#include "knowledge/interference_law.hpp"

#include <algorithm>
#include <cmath>

namespace carpool::knowledge {
namespace {

constexpr double kMostDifference = 0.5;  // of activities: data/h200 has none beyond

// ln of K and tilt.
double log_contention(const BeliefStore& store, const LawMember& slowed, const LawMember& by) {
  const UserBelief& user = store.user(slowed.user);
  return user.log_contention.mean + user.tilt.mean * tilt_slope(slowed, by);
}

double log_pair_factor(const BeliefStore& store, const LawMember& slowed, const LawMember& by) {
  if (!slowed.paired || by.slot == kNone) {
    return 0.0;
  }
  const Believed* factor = store.pair(slowed.slot, by.slot);
  return factor == nullptr ? 0.0 : factor->mean;
}

}  // namespace

double tilt_slope(const LawMember& slowed, const LawMember& by) {
  return slowed.trust * by.trust *
         std::clamp(by.activity - slowed.activity, -kMostDifference, kMostDifference);
}

double law_cost(const BeliefStore& store, const LawMember& slowed, const LawMember& by) {
  return std::exp(log_contention(store, slowed, by) + log_pair_factor(store, slowed, by)) *
         by.push * slowed.sensitivity;
}

double law_share(const BeliefStore& store, std::size_t members, double cost) {
  return members < 2 ? 1.0
                     : std::max(1.0 / (1.0 + group_factor(members) * cost), store.settings().floor);
}

double group_factor(std::size_t members) {
  constexpr double kPerMember = 0.045;
  return 1.0 + kPerMember * static_cast<double>(std::clamp<std::size_t>(members, 2, 8) - 2);
}

double group_variance(std::size_t members) {
  // With all pairs known, ln(cost) of data/h200 deviates by 0.12 in triples and by 0.21 in fours;
  // part of that is learned as sensitivity and pressure.
  constexpr double kPair = 0.05;
  constexpr double kPerMember = 0.05;
  constexpr double kMost = 0.30;
  const auto more = static_cast<double>(std::max<std::size_t>(members, 2) - 2);
  return squared(std::min(kPair + kPerMember * more, kMost));
}

void law_progress(const BeliefStore& store,
                  LawGroup group,
                  std::span<const double> prior,
                  std::span<double> out) {
  if (!prior.empty()) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      const double cost = member_costs(store, group, i, prior).total;
      out[i] = std::clamp(1.0 / (1.0 + cost), store.settings().floor, 1.0);
    }
    return;
  }
  double load = 0.0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    double cost = 0.0;
    for (std::size_t j = 0; j < group.size(); ++j) {
      cost += j == i ? 0.0 : law_cost(store, *group[i], *group[j]);
    }
    out[i] = law_share(store, group.size(), cost);
    load += group[i]->activity * out[i];
  }
  const double factor = capacity_factor(load);
  for (std::size_t i = 0; i < group.size(); ++i) {
    out[i] = std::max(out[i] * factor, store.settings().floor);
  }
}

MemberCosts member_costs(const BeliefStore& store,
                         LawGroup group,
                         std::size_t member,
                         std::span<const double> prior) {
  MemberCosts made{.shares = std::vector<double>(group.size(), 0.0), .by_prior = !prior.empty()};
  double plain = 0.0;  // without s, p and m
  double sum = 0.0;
  for (std::size_t j = 0; j < group.size(); ++j) {
    if (j != member) {
      made.shares[j] = law_cost(store, *group[member], *group[j]);
      plain +=
          std::exp(log_contention(store, *group[member], *group[j])) * squared(group[j]->activity);
      sum += made.shares[j];
    }
  }
  for (double& share : made.shares) {
    share /= sum > 0.0 ? sum : 1.0;
  }
  if (prior.empty()) {
    std::vector<double> progress(group.size());
    law_progress(store, group, prior, progress);
    made.total = 1.0 / progress[member] - 1.0;
  } else {
    constexpr double kLeast = 1e-3;
    const double told = std::max(1.0 / std::clamp(prior[member], kLeast, 1.0) - 1.0, kLeast);
    made.total = plain > 0.0 ? told * sum / plain : told;
  }
  return made;
}

}  // namespace carpool::knowledge
