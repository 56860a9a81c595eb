// Estimates against what was measured. Internal to estimate/.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "estimate/judge/evaluation.hpp"

namespace carpool::estimate {

// All rows first, then, where some are contested, the others, then by family.
[[nodiscard]] std::vector<EstimatorScore> score_estimates(const std::string& estimator,
                                                          const std::vector<MeasuredJob>& rows,
                                                          const std::vector<RowEstimate>& estimates,
                                                          const std::set<std::size_t>& unanswered);

}  // namespace carpool::estimate
