// The memory estimators by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "core/memory_estimator.hpp"
#include "estimate/bound/carpool_fit.hpp"

namespace carpool::estimate {

struct EstimatorKind {
  std::string_view name;
  std::string_view description;
  // Estimators without fitted parameters ignore the rows.
  Result<std::unique_ptr<MemoryEstimator>> (*fit)(const EstimatorTraining&);
};

[[nodiscard]] std::span<const EstimatorKind> estimator_kinds();
[[nodiscard]] Result<const EstimatorKind*> find_estimator_kind(std::string_view name);

}  // namespace carpool::estimate
