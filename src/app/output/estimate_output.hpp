// Scores of memory estimators as tables and JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/output.hpp"
#include "estimate/judge/evaluation.hpp"

namespace carpool::app {

struct EstimateListing {
  const std::vector<estimate::MeasuredJob>& rows;
  const std::vector<estimate::EstimatorResult>& results;
  std::string file;
  std::string view;
  std::string split;
  std::size_t without_model = 0;
};

[[nodiscard]] nlohmann::json estimates_to_json(const EstimateListing& listing, bool per_row);
void print_estimates(const EstimateListing& listing, const Output& output);

}  // namespace carpool::app
