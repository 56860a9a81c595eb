// The memory estimate of one job by the bundled estimator or one of a file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/memory_estimate.hpp"
#include "estimate/bound/carpool_estimator.hpp"
#include "estimate/readers/estimate_request.hpp"

namespace carpool::app {

// The estimator of `file`, or the bundled one, with upper bounds of this confidence.
[[nodiscard]] Result<estimate::CarpoolEstimator> open_estimator(
    const std::optional<std::string>& file, double confidence);

// The job of the request. Networks that a command names are looked up in the bundled measurements.
[[nodiscard]] Result<estimate::RequestedJob> ask_with_catalogue(
    const estimate::EstimateRequest& question);

// The same where no estimate was asked for: at once, and only where the command
// names a model that is known, and a batch size. No file is read that the command names.
[[nodiscard]] Result<estimate::RequestedJob> ask_where_sure(
    const estimate::EstimateRequest& question);

// The estimate with the basis and the notes of the request.
[[nodiscard]] Result<MemoryEstimate> estimate_asked(const estimate::CarpoolEstimator& estimator,
                                                    const estimate::RequestedJob& asked);

}  // namespace carpool::app
