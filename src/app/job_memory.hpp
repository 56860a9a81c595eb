// The memory of one job by the estimator that comes with the program.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/memory_estimate.hpp"
#include "estimate/carpool_estimator.hpp"
#include "estimate/readers/question.hpp"

namespace carpool {

// The bundled estimator, or that of a file, with bounds of this confidence.
[[nodiscard]] Result<CarpoolEstimator> open_estimator(const std::optional<std::string>& file,
                                                      double confidence);

// The job in question; networks that a command names are looked up in the bundled measurements.
[[nodiscard]] Result<AskedJob> ask_with_catalogue(const JobQuestion& question);

// With the basis and the notes of the question.
[[nodiscard]] Result<MemoryEstimate> estimate_asked(const CarpoolEstimator& estimator,
                                                    const AskedJob& asked);

}  // namespace carpool
