#include "simulate/simulation_constants.hpp"

#include <algorithm>
#include <cmath>

#include "simulate/draws.hpp"

namespace carpool::simulate {
namespace {

constexpr double kP95 = 1.6448536269514722;  // of the standard normal

}  // namespace

double start_delay_s(const SimulationConstants& constants,
                     std::uint64_t seed,
                     std::uint64_t job,
                     std::uint64_t attempt) {
  if (constants.start_median_s <= 0.0) {
    return 0.0;
  }
  const double spread = std::log(constants.start_p95_s / constants.start_median_s) / kP95;
  const double delay =
      constants.start_median_s * std::exp(spread * draw_normal(seed, job, attempt));
  return std::min(delay, constants.start_longest_s);
}

double watts(const SimulationConstants& constants, double sm_active) {
  return constants.idle_watts + constants.slope_watts * sm_active;
}

}  // namespace carpool::simulate
