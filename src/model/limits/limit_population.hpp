// What workloads have in common under thread limits: the forecast for a workload that was never
// measured under limits.
#pragma once

#include "model/limits/limit_factor.hpp"
#include "model/share_parameters.hpp"

namespace carpool::model {

// Slopes on a workload's log weight b and headroom d.
struct ShareSlopes {
  double weight = 0.0;
  double headroom = 0.0;
};

// The expected LimitParameters are linear in the share parameters, taken relative to `centre`.
struct LimitPopulation {
  ShareSlopes centre;            // mean b and d of the workloads that it was fitted on
  double log_parallelism = 0.0;  // kappa_0
  ShareSlopes parallelism;       // beta_kappa
  double log_contention = 0.0;   // m_0
  ShareSlopes sensitivity;       // beta_g
  ShareSlopes pressure;          // beta_h
  double sharing_gain = 0.0;     // eta

  [[nodiscard]] LimitParameters expect(const ShareParameters& share) const;

  // The same forecasts of speed, written around another centre.
  [[nodiscard]] LimitPopulation recentred(const ShareSlopes& new_centre) const;
};

// The fit on the bundled measurements (one Tesla V100, 21 workloads under limits), used where the
// dataset has no measurements under limits. Not validated on another GPU, and tied to the scale
// that `share` gives weight and headroom.
[[nodiscard]] const LimitPopulation& shipped_population();

}  // namespace carpool::model
