// The card of a newly trained model.
#pragma once

#include <span>
#include <string_view>

#include "dataset/features.hpp"
#include "model/throughput_model.hpp"

namespace carpool::model {

// `rows` are those of the training set that the model was fitted on.
[[nodiscard]] ModelCard describe_training(std::string_view kind,
                                          const TrainingSet& training,
                                          std::span<const dataset::GroupRow> rows,
                                          const dataset::FeatureSelection& features);

}  // namespace carpool::model
