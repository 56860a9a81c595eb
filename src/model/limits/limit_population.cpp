#include "model/limits/limit_population.hpp"

namespace carpool::model {
namespace {

double along(const ShareSlopes& slopes, const ShareSlopes& offset) {
  return slopes.weight * offset.weight + slopes.headroom * offset.headroom;
}

}  // namespace

LimitParameters LimitPopulation::expect(const ShareParameters& share) const {
  const ShareSlopes offset{.weight = share.log_weight - centre.weight,
                           .headroom = share.headroom - centre.headroom};
  return {.log_parallelism = log_parallelism + along(parallelism, offset),
          .log_sensitivity = log_contention + along(sensitivity, offset),
          .log_pressure = along(pressure, offset),
          .sharing_gain = sharing_gain};
}

LimitPopulation LimitPopulation::recentred(const ShareSlopes& new_centre) const {
  const ShareSlopes moved{.weight = new_centre.weight - centre.weight,
                          .headroom = new_centre.headroom - centre.headroom};
  LimitPopulation result = *this;
  result.centre = new_centre;
  result.log_parallelism += along(parallelism, moved);
  // Speeds depend only on sensitivity + pressure, so that one constant serves both.
  result.log_contention += along(sensitivity, moved) + along(pressure, moved);
  return result;
}

const LimitPopulation& shipped_population() {
  static constexpr LimitPopulation kV100{.centre = {.weight = 0.02, .headroom = 0.20},
                                         .log_parallelism = 0.74,
                                         .parallelism = {.weight = 0.71, .headroom = -0.91},
                                         .log_contention = -2.45,
                                         .sensitivity = {.weight = 0.19, .headroom = -0.28},
                                         .pressure = {.weight = 0.28, .headroom = -1.67},
                                         .sharing_gain = 0.14};
  return kV100;
}

}  // namespace carpool::model
