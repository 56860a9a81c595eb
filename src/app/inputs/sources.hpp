// The dataset and the model that options and configuration name.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/shared_options.hpp"
#include "base/files/config.hpp"
#include "base/progress/progress.hpp"
#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "model/throughput_model.hpp"

namespace carpool::app {

// A folder of the bundled data/.
[[nodiscard]] Result<std::filesystem::path> bundled_folder(std::string_view name);

// The dataset of --data, else of the configuration, else the bundled one.
[[nodiscard]] Result<dataset::Dataset> open_dataset(const std::optional<std::string>& data,
                                                    const Config& config);

// Rows of the named tables. Rows with thread limits and solo runs with limits go to lists of their
// own. Without names: `pairs`, and `partitions` if there is one.
[[nodiscard]] Result<model::TrainingSet> gather_training_set(const dataset::Dataset& dataset,
                                                             const ModelOptions& options);

// Loads --model-file or trains --model (default: share) on the dataset.
[[nodiscard]] Result<std::unique_ptr<model::ThroughputModel>> obtain_model(
    const ModelOptions& options,
    const dataset::Dataset& dataset,
    const Config& config,
    Progress::Show show);

// Index of a workload by name. The error for an unknown name suggests the nearest.
[[nodiscard]] Result<std::size_t> find_workload(const dataset::Dataset& dataset,
                                                const std::string& name);
[[nodiscard]] Result<std::vector<std::size_t>> find_workloads(
    const dataset::Dataset& dataset, const std::vector<std::string>& names);

}  // namespace carpool::app
