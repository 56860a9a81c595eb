// The learned correction of convolutional nets: boosted trees over the sizes of their convolutions,
// used where they reduce the error on model names outside the training rows. Internal to estimate/.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "estimate/bound/carpool_estimator.hpp"

namespace carpool::estimate {

// A measured job and its facts.
struct Known {
  const MeasuredJob* row = nullptr;
  const JobFacts* facts = nullptr;
  [[nodiscard]] double truth() const { return static_cast<double>(row->truth()); }
};

using KnownRows = std::vector<Known>;

// Errors of all rows with what is fitted so far.
[[nodiscard]] std::vector<LogError> log_errors(const KnownRows& rows, const CarpoolFit& fit);

// Fits the trees where there are enough rows and the trees help. Returns the errors of these rows,
// with trees by cross-fitting: rows of one model name are predicted by trees fitted to the others.
[[nodiscard]] Result<std::vector<LogError>> fit_correction(const KnownRows& convolutions,
                                                           CarpoolFit& fit);

}  // namespace carpool::estimate
