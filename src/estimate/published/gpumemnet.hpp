// GPUMemNet's MLP ensemble for fully connected nets (EuroMLSys'26), trained on measured rows: a
// class of 1 GB (1000 MiB) whose upper edge is the estimate.
#pragma once

#include <memory>

#include "estimate/bound/carpool_fit.hpp"

namespace carpool::estimate {

// Needs rows of fully connected nets, and others to validate on; without calibration rows every
// fifth training row is taken for that.
[[nodiscard]] Result<std::unique_ptr<MemoryEstimator>> fit_gpumemnet_mlp(
    const EstimatorTraining& training);

}  // namespace carpool::estimate
