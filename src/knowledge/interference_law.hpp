// The law of interference: how fast the members of a group run by what is believed of each.
//
//   progress_i = 1 / (1 + g(n) * sum over the others j of c_ij)
//   c_ij = K * a_j^2 * exp(h * t_i * t_j * clamp(a_j - a_i, +-0.5)) * s_i * p_j * m_ij
//
// a: solo SM activity; t: trust in it; K: contention; h: tilt, because the kernels of a less active
// member wait for those of a more active one; s, p: sensitivity and pressure of a workload; m:
// factor of the pair; g(n): what groups cost beyond the sum of their pairs. A member never seen has
// s = p = m = 1 and t = 0. Where the prior model knows all members, it gives the sum of costs, and
// the law the weights of s, p and m.
//
// SM activity is conserved: where the sum of a_i * progress_i exceeds kSmCapacity, all members slow
// down in proportion.
#pragma once

#include <span>
#include <vector>

#include "knowledge/belief_store.hpp"

namespace carpool::knowledge {

using LawGroup = std::span<const LawMember* const>;

// In groups of data/h200 and data/h200-groups the sum is at most 1.13; in groups of 5 to 12 copies,
// whose small kernels share SMs, 1.1 to 1.5 (docs/knowledge.md says of which columns).
inline constexpr double kSmCapacity = 1.1;
// The factor by which members slow down beyond the law; `load`: the sum of a_i * progress_i.
[[nodiscard]] inline double capacity_factor(double load) {
  return load > kSmCapacity ? kSmCapacity / load : 1.0;
}

// c_ij above.
[[nodiscard]] double law_cost(const BeliefStore& store,
                              const LawMember& slowed,
                              const LawMember& by);
// Progress of a member by the sum of its c_ij.
[[nodiscard]] double law_share(const BeliefStore& store, std::size_t members, double cost);
// Change of ln(cost) by h.
[[nodiscard]] double tilt_slope(const LawMember& slowed, const LawMember& by);
[[nodiscard]] double group_factor(std::size_t members);
// Variance of ln(cost) of a member of a group beyond what its pairs tell.
[[nodiscard]] double group_variance(std::size_t members);

// Progress of each member. `prior`: what the prior model says of the group; empty: it does not know
// all members.
void law_progress(const BeliefStore& store,
                  LawGroup group,
                  std::span<const double> prior,
                  std::span<double> out);

// The costs of one member, for intervals and learning.
struct MemberCosts {
  double total = 0.0;            // 1/progress - 1
  std::vector<double> shares{};  // of the others in the total, by position; sum 1
  bool by_prior = false;         // the sum comes from the prior model
};
[[nodiscard]] MemberCosts member_costs(const BeliefStore& store,
                                       LawGroup group,
                                       std::size_t member,
                                       std::span<const double> prior);

}  // namespace carpool::knowledge
