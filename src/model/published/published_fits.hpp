// The choice among regressions of kace-automl.
#pragma once

#include <cstdint>

#include "learn/regressor.hpp"

namespace carpool::model {

// The regression with the least cross-validated squared error, fitted to all rows. They are tried
// from the fastest on until the budget is used up, at least one. Unless the budget ends the search,
// equal seeds give equal results.
[[nodiscard]] learn::Fit automl_fit(std::uint64_t seed, double budget_s);

}  // namespace carpool::model
