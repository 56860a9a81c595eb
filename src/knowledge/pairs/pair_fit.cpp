#include "knowledge/pairs/pair_fit.hpp"

#include <algorithm>
#include <cmath>

namespace carpool::knowledge {
namespace {

// Weight of the starting point, in measured pairs: limits the effect of a single odd pair.
constexpr double kPull = 0.05;
constexpr double kStartSensitivity = 0.6;
constexpr int kRounds = 200;
constexpr double kLeastCost = 1e-3;
constexpr double kLeastFittedActivity = 0.01;
constexpr double kLeastSpeed = 0.05;

// One half of the alternating least squares: fits `free` for given `fixed`.
void fit_side(std::span<const PairCost> costs,
              std::size_t PairCost::* free_index,
              std::size_t PairCost::* fixed_index,
              std::span<const double> fixed,
              std::span<const double> start,
              std::vector<double>& free) {
  std::vector<double> above(free.size(), 0.0);
  std::vector<double> below(free.size(), kPull);
  for (std::size_t i = 0; i < free.size(); ++i) {
    above[i] = kPull * start[i];
  }
  for (const PairCost& cost : costs) {
    const double other = fixed[cost.*fixed_index];
    above[cost.*free_index] += cost.cost * other;
    below[cost.*free_index] += other * other;
  }
  for (std::size_t i = 0; i < free.size(); ++i) {
    free[i] = std::max(above[i] / below[i], 0.0);
  }
}

}  // namespace

double PairEffects::pressure_by_activity(double sm_active) const {
  return scale * std::pow(std::max(sm_active, kLeastFittedActivity), exponent);
}

PairEffects fit_pair_effects(std::span<const PairCost> costs, std::span<const double> sm_active) {
  const std::vector<double> start_pressure(sm_active.begin(), sm_active.end());
  const std::vector<double> start_sensitivity(sm_active.size(), kStartSensitivity);
  PairEffects effects{.pressure = start_pressure, .sensitivity = start_sensitivity};
  for (int round = 0; round < kRounds; ++round) {
    fit_side(costs,
             &PairCost::by,
             &PairCost::slowed,
             effects.sensitivity,
             start_pressure,
             effects.pressure);
    fit_side(costs,
             &PairCost::slowed,
             &PairCost::by,
             effects.pressure,
             start_sensitivity,
             effects.sensitivity);
  }
  // A line through the logarithms of activity and pressure.
  double count = 0.0;
  double x = 0.0;
  double y = 0.0;
  double xx = 0.0;
  double xy = 0.0;
  double sensitivity = 0.0;
  for (std::size_t i = 0; i < sm_active.size(); ++i) {
    const double activity = std::log(std::max(sm_active[i], kLeastFittedActivity));
    const double pressure = std::log(std::max(effects.pressure[i], kLeastCost));
    count += 1.0;
    x += activity;
    y += pressure;
    xx += activity * activity;
    xy += activity * pressure;
    sensitivity += std::log(std::max(effects.sensitivity[i], kLeastCost));
  }
  const double spread = count * xx - x * x;
  if (count > 0.0 && spread > 0.0) {
    effects.exponent = (count * xy - x * y) / spread;
    effects.scale = std::exp((y - effects.exponent * x) / count);
    effects.usual_sensitivity = std::exp(sensitivity / count);
  }
  return effects;
}

PairCosts costs_while_both_ran(const PairTimes& times) {
  const double both = std::min(times.beside_a_s, times.beside_b_s);
  const auto cost = [&](double solo, double beside) {
    const double done = beside <= both ? solo : solo - (beside - both);
    const double speed = std::clamp(done / both, kLeastSpeed, 1.0);
    return 1.0 / speed - 1.0;
  };
  return {.a = cost(times.solo_a_s, times.beside_a_s), .b = cost(times.solo_b_s, times.beside_b_s)};
}

}  // namespace carpool::knowledge
