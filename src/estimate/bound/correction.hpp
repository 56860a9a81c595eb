// The learned correction of convolutional nets: boosted trees over the sizes of their convolutions,
// where they lessen the error on model names that they did not see. Internal to estimate/.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "estimate/bound/carpool_estimator.hpp"

namespace carpool::estimate {

// A measured job and what its replays say.
struct Known {
  const MeasuredJob* row = nullptr;
  const JobFacts* facts = nullptr;
  [[nodiscard]] double truth() const { return static_cast<double>(row->truth()); }
};

using KnownRows = std::vector<Known>;

// Of all rows, by what is fitted so far.
[[nodiscard]] std::vector<LogError> log_errors(const KnownRows& rows, const CarpoolFit& fit);

// Grows the trees where there are rows enough and they help. The errors of these rows, those of
// trees by cross-fitting: rows of one model name are judged by trees of the others.
[[nodiscard]] Result<std::vector<LogError>> fit_correction(const KnownRows& convolutions,
                                                           CarpoolFit& fit);

}  // namespace carpool::estimate
