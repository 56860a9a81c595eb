// What an optimizer holds and takes.
#pragma once

#include "core/described_job.hpp"

namespace carpool::estimate {

// Bytes an element that the optimizer keeps, in sizes of the parameter, and what a step takes for
// its time: for all tensors at once (foreach) or for each in turn.
struct OptimizerTraits {
  int states = 0;
  bool states_at_start = false;  // made with the optimizer, not in the first step
  int foreach_temporaries = 0;
  int single_temporaries = 0;
};

[[nodiscard]] OptimizerTraits optimizer_traits(Optimizer optimizer);

}  // namespace carpool::estimate
