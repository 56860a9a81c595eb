// What measured pairs say about groups that nobody measured.
//
// In a group S, member i runs at 1 / (1 + Σ_{j in S, j ≠ i} g_ij) of its speed alone: the law of
// the model `share` (docs/model.md) in shares of the speed alone. g_ij = (what j takes) x (how much
// that hurts i), fitted on pairs alone; where a pair was measured its own g stands.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace carpool::knowledge {

// `slowed` lost time beside `by`: it ran at 1 / (1 + cost) of its speed.
struct PairCost {
  std::size_t slowed = 0;
  std::size_t by = 0;
  double cost = 0.0;
};

struct PairEffects {
  std::vector<double> takes;    // of others, by workload
  std::vector<double> suffers;  // from others, by workload
  // For a workload in no pair: takes = scale · activity^exponent, and the usual sensitivity.
  double scale = 0.0;
  double exponent = 0.0;
  double usual_suffering = 0.0;

  [[nodiscard]] double takes_by_activity(double sm_active) const;
};

// `sm_active` by workload; the costs name workloads by index into it.
[[nodiscard]] PairEffects fit_pair_effects(std::span<const PairCost> costs,
                                           std::span<const double> sm_active);

// Two jobs began together; one ended first and the other went on alone, so that its speed beside
// the first is lower than its whole time says. The cost of each while both ran, never below 0.
struct PairTimes {
  double alone_a_s = 0.0;
  double alone_b_s = 0.0;
  double beside_a_s = 0.0;
  double beside_b_s = 0.0;
};
struct PairCosts {
  double a = 0.0;
  double b = 0.0;
};
[[nodiscard]] PairCosts costs_while_both_ran(const PairTimes& times);

}  // namespace carpool::knowledge
