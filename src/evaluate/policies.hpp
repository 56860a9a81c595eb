// Everything that can be evaluated, behind one interface: trained models, rules by a metric, and
// references that know the measurements.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "evaluate/evaluation.hpp"
#include "model/throughput_model.hpp"

namespace carpool::evaluate {

// A policy made ready for one trial. The forecaster refers to the model.
struct BoundPolicy {
  std::unique_ptr<model::ThroughputModel> model;  // empty for rules
  std::unique_ptr<model::Forecaster> forecaster;  // empty for references
  std::optional<double> train_seconds;
};

// Trains or binds `name` for the trial. Rules need no training rows.
[[nodiscard]] Result<BoundPolicy> bind_policy(const std::string& name,
                                              const dataset::Dataset& dataset,
                                              const Trial& trial,
                                              const EvaluationOptions& options);

}  // namespace carpool::evaluate
