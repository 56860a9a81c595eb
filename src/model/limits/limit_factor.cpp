#include "model/limits/limit_factor.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "model/limits/overlap.hpp"

namespace carpool::model {
namespace {

double speed_left(const LimitTraits& traits, double share) {
  return share * (1.0 + traits.parallelism) / (share + traits.parallelism);
}

// The factor of one member beside others.
double log_factor(std::span<const LimitTraits> traits,
                  const Group& group,
                  double rate,
                  std::size_t member) {
  const LimitTraits& own = traits[group[member].profile];
  double unlimited = 1.0;  // D_i with 100 % each
  double limited = 1.0;    // D_i
  double apart = 1.0;      // 1 - W_i
  for (std::size_t j = 0; j < group.size(); ++j) {
    if (j == member) {
      continue;
    }
    const LimitTraits& other = traits[group[j].profile];
    const double share = gpu_share(group[j]);
    const double shared = overlap(rate, share);
    const double seized = other.weight * own.inverse_weight;
    const double traffic = own.sensitivity * other.pressure * speed_left(other, share);
    unlimited += seized;
    limited += shared * seized + (1.0 - shared) * traffic;
    apart *= 1.0 - shared;
  }
  return std::log(speed_left(own, gpu_share(group[member])) * unlimited / limited) -
         apart * own.sharing_gain;
}

}  // namespace

LimitTraits limit_traits(const ShareParameters& share, const LimitParameters& limits) {
  return {.parallelism = std::exp(limits.log_parallelism),
          .sensitivity = std::exp(limits.log_sensitivity),
          .pressure = std::exp(limits.log_pressure),
          .sharing_gain = limits.sharing_gain,
          .weight = std::exp(share.log_weight),
          .inverse_weight = std::exp(-share.log_weight - share.headroom)};
}

void log_limit_factors(std::span<const LimitTraits> traits,
                       const Group& group,
                       std::span<double> factors) {
  const bool unlimited = std::all_of(group.begin(), group.end(), [](const GroupMember& member) {
    return member.thread_limit == kAllThreads;
  });
  if (unlimited) {
    std::fill(factors.begin(), factors.end(), 0.0);
    return;
  }
  // In a solo run there is no sharing gain, with or without a limit, so that it cancels.
  if (group.size() == 1) {
    factors[0] = std::log(speed_left(traits[group[0].profile], gpu_share(group[0])));
    return;
  }
  const double rate = overlap_rate(group);
  for (std::size_t i = 0; i < group.size(); ++i) {
    factors[i] = log_factor(traits, group, rate, i);
  }
}

}  // namespace carpool::model
