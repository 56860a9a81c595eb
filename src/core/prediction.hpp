// The predicted speeds of a group, in units that users know.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/forecast.hpp"
#include "core/group.hpp"

namespace carpool {

struct MemberPrediction {
  std::size_t profile = 0;
  std::string workload;
  double thread_limit = kAllThreads;
  double alone = 0.0;     // units/s solo, all threads
  double together = 0.0;  // units/s beside the other members
  std::optional<Interval> together90;
  double slowdown = 1.0;  // alone / together
  std::optional<Interval> slowdown90;
  double progress = 1.0;      // together / alone: share of its solo speed, 0 to 1
  bool extrapolated = false;  // this workload lies outside the training data of the model
};

struct Prediction {
  std::vector<MemberPrediction> members;  // empty: the model predicts the sum alone
  std::optional<double> sum;              // units/s of all; empty: the model only ranks
  std::optional<Interval> sum90;
  std::optional<double>
      normalized_sum;  // sum of the members' progress; above 1, sharing gets more done
};

}  // namespace carpool
