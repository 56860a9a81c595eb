#include "simulate/physics.hpp"

#include <algorithm>
#include <cmath>

#include "simulate/draws.hpp"

namespace carpool {
namespace {

constexpr double kP95 = 1.6448536269514722;  // of the standard normal

}  // namespace

double start_delay_s(const Physics& physics,
                     std::uint64_t seed,
                     std::uint64_t job,
                     std::uint64_t attempt) {
  const double spread = std::log(physics.start_p95_s / physics.start_median_s) / kP95;
  const double delay = physics.start_median_s * std::exp(spread * draw_normal(seed, job, attempt));
  return std::min(delay, physics.start_longest_s);
}

double watts(const Physics& physics, double sm_active) {
  return physics.idle_watts + physics.slope_watts * sm_active;
}

}  // namespace carpool
