// Scores of estimates against measurements. Internal to estimate/.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "estimate/judge/evaluation.hpp"

namespace carpool::estimate {

// Of all rows, of the uncontested ones where some are contested, of each family, and by how
// workspaces are chosen.
[[nodiscard]] std::vector<EstimatorScore> score_estimates(const std::string& estimator,
                                                          const std::vector<MeasuredJob>& rows,
                                                          const std::vector<RowEstimate>& estimates,
                                                          const std::set<std::size_t>& unanswered);

}  // namespace carpool::estimate
