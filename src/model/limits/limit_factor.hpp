// How much thread limits change the speed of a group's members, relative to 100 % each.
#pragma once

#include <span>

#include "core/group.hpp"
#include "model/share_parameters.hpp"

namespace carpool::model {

// The parameters of one workload under thread limits. docs/mps-splits.md derives the formula:
//   T_i(S, p) = s_i(p_i) exp(c_i - (1 - W_i) a_i) / D_i
//   s_i(p)    = p (1 + k_i) / (p + k_i)              solo speed left under limit p
//   D_i       = 1 + sum over j of
//                 w_ij exp(b_j - b_i - d_i)            multiprocessors are shared
//                 + (1 - w_ij) exp(G_i + h_j) s_j(p_j)   only memory is shared
//   W_i       = 1 - product over j of (1 - w_ij)     share of i's multiprocessors that others use
struct LimitParameters {
  double log_parallelism =
      0.0;  // log k: time that shrinks with more multiprocessors / time that does not
  double log_sensitivity = 0.0;  // G: how much others' memory traffic slows it
  double log_pressure = 0.0;     // h: how much its memory traffic slows others
  double sharing_gain = 0.0;     // a: log of capacity when sharing / solo speed
};

// The same with the exponentials taken: computed once per workload, used for every MPS partition.
struct LimitTraits {
  double parallelism = 0.0;     // k
  double sensitivity = 0.0;     // exp G
  double pressure = 0.0;        // exp h
  double sharing_gain = 0.0;    // a
  double weight = 0.0;          // exp b
  double inverse_weight = 0.0;  // exp(-b - d)
};

[[nodiscard]] LimitTraits limit_traits(const ShareParameters& share, const LimitParameters& limits);

// log of the solo speed in units/s with all threads. exp(c) of the share model is the speed beside
// a vanishing partner; the measured solo speed is lower by the factor exp(a), 1.1 to 1.5.
[[nodiscard]] inline double log_solo(const ShareParameters& share, const LimitParameters& limits) {
  return share.log_capacity - limits.sharing_gain;
}

// factors[i] = log of T_i with the group's limits / T_i with 100 % each; exactly 0 where every
// limit is 100 %. `traits` by profile; one factor per member; limits in (0, 100].
void log_limit_factors(std::span<const LimitTraits> traits,
                       const Group& group,
                       std::span<double> factors);

}  // namespace carpool::model
