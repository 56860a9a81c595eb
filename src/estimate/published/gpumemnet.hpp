// GPUMemNet's MLP ensemble for fully connected nets (EuroMLSys'26), trained on measured rows. It
// predicts a class of 1 GB (1000 MiB), whose upper edge is the estimate.
#pragma once

#include <memory>

#include "estimate/bound/carpool_fit.hpp"

namespace carpool::estimate {

// Validates on the calibration rows or, without any, on every fifth training row.
[[nodiscard]] Result<std::unique_ptr<MemoryEstimator>> fit_gpumemnet_mlp(
    const EstimatorTraining& training);

}  // namespace carpool::estimate
