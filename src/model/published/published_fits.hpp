// The regressions of the published models that search for their settings.
#pragma once

#include <cstdint>

#include "learn/regressor.hpp"

namespace carpool::model {

// The regression with the least cross-validated squared error, fitted to all rows. They are tried
// from the fastest on until the budget is used up, at least one. Unless the budget ends the search,
// equal seeds give equal results.
[[nodiscard]] learn::Fit automl_fit(std::uint64_t seed, double budget_s);

// The forest of KACE-RF and of Xu et al.: the best of 100 random settings by 5-fold
// cross-validation, fitted to all rows. Seed 0 is the published random state.
[[nodiscard]] learn::Fit published_forest_fit(std::uint64_t seed);

}  // namespace carpool::model
