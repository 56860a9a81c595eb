// Interference in groups that were not measured, from measured pairs.
//
// In a group S, member i runs at 1 / (1 + Σ_{j in S, j ≠ i} g_ij) of its solo speed, as in the
// model `share` (docs/model.md). g_ij = (pressure of j) x (sensitivity of i), fitted on pairs; a
// measured pair keeps its own g.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace carpool::knowledge {

// `slowed` ran at 1 / (1 + cost) of its solo speed beside `by`.
struct PairCost {
  std::size_t slowed = 0;
  std::size_t by = 0;
  double cost = 0.0;
};

struct PairEffects {
  std::vector<double> pressure;     // on other jobs, by workload
  std::vector<double> sensitivity;  // to other jobs, by workload
  // A workload in no pair: pressure = scale · activity^exponent, and the usual sensitivity.
  double scale = 0.0;
  double exponent = 0.0;
  double usual_sensitivity = 0.0;

  [[nodiscard]] double pressure_by_activity(double sm_active) const;
};

// `sm_active` by workload; the costs name workloads by index into it.
[[nodiscard]] PairEffects fit_pair_effects(std::span<const PairCost> costs,
                                           std::span<const double> sm_active);

// Two jobs began together; one ended first and the other continued solo, so that its speed beside
// the first is lower than its total time says. The cost of each while both ran, at least 0.
struct PairTimes {
  double solo_a_s = 0.0;
  double solo_b_s = 0.0;
  double beside_a_s = 0.0;
  double beside_b_s = 0.0;
};
struct PairCosts {
  double a = 0.0;
  double b = 0.0;
};
[[nodiscard]] PairCosts costs_while_both_ran(const PairTimes& times);

}  // namespace carpool::knowledge
