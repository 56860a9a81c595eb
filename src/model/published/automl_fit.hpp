// The choice among regressions of kace-automl.
#pragma once

#include <cstdint>

#include "learn/regressor.hpp"

namespace carpool::model {

// The candidate with the least cross-validated squared error, fitted to all rows. Candidates are
// tried from the cheapest on until the budget is spent; one always is. Apart from where the budget
// ends it, the same seed gives the same result.
[[nodiscard]] learn::Fit automl_fit(std::uint64_t seed, double budget_s);

}  // namespace carpool::model
