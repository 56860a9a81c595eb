#include "knowledge/interference_law.hpp"

#include <algorithm>
#include <cmath>

namespace carpool::knowledge {
namespace {

constexpr double kMostDifference = 0.5;  // of activities: data/h200 has none beyond

// Cost by the law and the learned factor of the pair of members at two positions.
struct PairCostParts {
  double plain = 0.0;   // without s, p, m
  double factor = 1.0;  // s * p * m
};

double pair_factor(const BeliefStore& store, const LawMember& slowed, const LawMember& by) {
  if (!slowed.paired || by.slot == kNone) {
    return 1.0;
  }
  const Believed* factor = store.pair(slowed.slot, by.slot);
  return factor == nullptr ? 1.0 : std::exp(factor->mean);
}

PairCostParts parts(const BeliefStore& store, const LawMember& slowed, const LawMember& by) {
  const double full = law_cost(store.user(slowed.user), slowed, by);
  const double pressure = by.push / squared(by.activity);
  const double learned = slowed.sensitivity * pressure;
  return {.plain = full / learned, .factor = learned * pair_factor(store, slowed, by)};
}

}  // namespace

double tilt_slope(const LawMember& slowed, const LawMember& by) {
  return slowed.trust * by.trust *
         std::clamp(by.activity - slowed.activity, -kMostDifference, kMostDifference);
}

double law_cost(const UserBelief& user, const LawMember& slowed, const LawMember& by) {
  const double exponent = user.log_contention.mean + user.tilt.mean * tilt_slope(slowed, by);
  return std::exp(exponent) * by.push * slowed.sensitivity;
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
  const double floor = store.settings().floor;
  if (group.size() < 2) {
    std::ranges::fill(out, 1.0);
    return;
  }
  if (!prior.empty()) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      out[i] = std::clamp(1.0 / (1.0 + member_costs(store, group, i, prior).total), floor, 1.0);
    }
    return;
  }
  const double larger = group_factor(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    const LawMember& slowed = *group[i];
    const UserBelief& user = store.user(slowed.user);
    double cost = 0.0;
    for (std::size_t j = 0; j < group.size(); ++j) {
      if (j != i) {
        cost += law_cost(user, slowed, *group[j]) * pair_factor(store, slowed, *group[j]);
      }
    }
    out[i] = std::max(1.0 / (1.0 + larger * cost), floor);
  }
}

MemberCosts member_costs(const BeliefStore& store,
                         LawGroup group,
                         std::size_t member,
                         std::span<const double> prior) {
  MemberCosts made{.shares = std::vector<double>(group.size(), 0.0), .by_prior = !prior.empty()};
  double plain = 0.0;
  double sum = 0.0;
  for (std::size_t j = 0; j < group.size(); ++j) {
    if (j != member) {
      const PairCostParts pair = parts(store, *group[member], *group[j]);
      made.shares[j] = pair.plain * pair.factor;
      plain += pair.plain;
      sum += made.shares[j];
    }
  }
  for (double& share : made.shares) {
    share /= sum > 0.0 ? sum : 1.0;
  }
  if (prior.empty()) {
    made.total = group_factor(group.size()) * sum;
  } else {
    constexpr double kLeast = 1e-3;
    const double told = std::max(1.0 / std::clamp(prior[member], kLeast, 1.0) - 1.0, kLeast);
    made.total = plain > 0.0 ? told * sum / plain : told;
  }
  return made;
}

}  // namespace carpool::knowledge
