// A number that is believed: its mean, how sure it is, and when it was last measured.
#pragma once

#include <algorithm>
#include <cmath>

namespace carpool::knowledge {

// Old evidence counts half after this time.
inline constexpr double kHalfLifeSeconds = 30.0 * 24 * 3600;
// Half the width of a 90 % interval in standard deviations.
inline constexpr double kDeviations90 = 1.6449;

struct Believed {
  double mean = 0.0;
  double variance = 0.0;
  double at_s = 0.0;
  bool operator==(const Believed&) const = default;
};

// The variance when the evidence beyond the prior counts `weight` of what it did.
[[nodiscard]] inline double weakened(double variance, double prior_variance, double weight) {
  if (variance >= prior_variance) {
    return variance;
  }
  const double prior = 1.0 / prior_variance;
  return 1.0 / (prior + (1.0 / variance - prior) * weight);
}

[[nodiscard]] inline double aged_variance(const Believed& number,
                                          double prior_variance,
                                          double now_s) {
  const double age_s = std::max(now_s - number.at_s, 0.0);
  return age_s < 1.0
             ? number.variance
             : weakened(number.variance, prior_variance, std::exp2(-age_s / kHalfLifeSeconds));
}

// Brings the number to the present before it is measured again.
inline void make_current(Believed& number, double prior_variance, double now_s) {
  number.variance = aged_variance(number, prior_variance, now_s);
  number.at_s = std::max(number.at_s, now_s);
}

// A Kalman update: `slope` is the change of the measurement by the number, `spread` the variance of
// the difference between what was measured and what was expected.
inline void correct(Believed& number, double slope, double difference, double spread) {
  const double gain = number.variance * slope / spread;
  number.mean += gain * difference;
  number.variance *= std::max(1.0 - gain * slope, 1e-6);
}

}  // namespace carpool::knowledge
