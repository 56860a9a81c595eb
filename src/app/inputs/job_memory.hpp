// The memory of one job by the estimator that comes with the program.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/memory_estimate.hpp"
#include "estimate/bound/carpool_estimator.hpp"
#include "estimate/readers/estimate_request.hpp"

namespace carpool::app {

// The bundled estimator, or that of a file, with bounds of this confidence.
[[nodiscard]] Result<estimate::CarpoolEstimator> open_estimator(
    const std::optional<std::string>& file, double confidence);

// The job in question; networks that a command names are looked up in the bundled measurements.
[[nodiscard]] Result<estimate::RequestedJob> ask_with_catalogue(
    const estimate::EstimateRequest& question);

// With the basis and the notes of the question.
[[nodiscard]] Result<MemoryEstimate> estimate_asked(const estimate::CarpoolEstimator& estimator,
                                                    const estimate::RequestedJob& asked);

}  // namespace carpool::app
