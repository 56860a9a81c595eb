// The inputs of commands that use a model: dataset, model, predictor and goal.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/shared_options.hpp"
#include "base/files/config.hpp"
#include "base/progress/progress.hpp"
#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "model/throughput_model.hpp"
#include "predict/objective.hpp"
#include "predict/predictor.hpp"

namespace carpool::app {

// Must not be moved: the predictor refers to the dataset and the model.
struct ModelSession {
  dataset::Dataset dataset;
  std::unique_ptr<model::ThroughputModel> model;
  std::optional<predict::Predictor> predictor;
  predict::Objective objective;
  std::optional<double> memory_gib;

  // Names of the members, in order.
  [[nodiscard]] std::vector<std::string> names(const Group& group) const;
  // The workloads of the dataset that the model was trained on, which a listing without names
  // shows; all workloads of the dataset if the model knows none of them.
  [[nodiscard]] std::vector<std::size_t> trained_workloads() const;
};

[[nodiscard]] Result<std::unique_ptr<ModelSession>> open_session(const ModelOptions& model,
                                                                 const GoalOptions& goal,
                                                                 const Config& config,
                                                                 Progress::Show show);

}  // namespace carpool::app
