// The prediction of a model for a group.
#pragma once

#include <optional>
#include <vector>

namespace carpool {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

struct MemberForecast {
  double throughput = 0.0;  // units/s beside the other members
  std::optional<Interval> interval90;
  bool extrapolated = false;  // this workload lies outside the training data of the model
};

struct GroupForecast {
  // The model ranks groups by this number for the published objective (raw throughput sum): higher
  // is better. It need not have a unit: rules and the published models normalise.
  double preference = 0.0;
  std::optional<double> sum;  // units/s of all members together; empty: the method only ranks
  std::optional<Interval> sum_interval90;
  std::vector<MemberForecast> members;  // empty: the model predicts the sum alone
};

}  // namespace carpool
