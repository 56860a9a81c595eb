// The answer to "how fast would these run together?", in the terms a person asks in.
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
  double alone = 0.0;     // units/s with the GPU for itself, all threads
  double together = 0.0;  // units/s beside the others
  std::optional<Interval> together90;
  double slowdown = 1.0;  // alone / together
  std::optional<Interval> slowdown90;
  double progress = 1.0;      // together / alone: the share of its own speed that is left, 0 to 1
  bool extrapolated = false;  // this workload lies outside what the model was trained on
};

struct Prediction {
  std::vector<MemberPrediction> members;  // empty: the model predicts the sum alone
  std::optional<double> sum;              // units/s of all; empty: the model only ranks
  std::optional<Interval> sum90;
  std::optional<double> normalized_sum;  // sum of the members' progress; above 1 sharing pays
};

}  // namespace carpool
