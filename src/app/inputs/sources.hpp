// What commands work on: the dataset and the model that the options and the configuration name.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/options.hpp"
#include "base/files/config.hpp"
#include "base/progress/progress.hpp"
#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "model/throughput_model.hpp"

namespace carpool::app {

// A folder of data/ that comes with the program.
[[nodiscard]] Result<std::filesystem::path> bundled_folder(std::string_view name);

// The dataset of --data, of the configuration, or the bundled one.
[[nodiscard]] Result<dataset::Dataset> open_dataset(const std::optional<std::string>& data,
                                                    const Config& config);

// Rows of the named tables; rows under thread limits and runs alone under limits go to their own
// lists. No names: `pairs`, and `partitions` where there is one.
[[nodiscard]] Result<model::TrainingSet> gather_training_set(const dataset::Dataset& dataset,
                                                             const ModelOptions& options);

// Loads --model-file or trains --model (default: share) on the dataset.
[[nodiscard]] Result<std::unique_ptr<model::ThroughputModel>> obtain_model(
    const ModelOptions& options,
    const dataset::Dataset& dataset,
    const Config& config,
    Progress::Show show);

// Index of a workload by name; an unknown name is an error that suggests the nearest.
[[nodiscard]] Result<std::size_t> find_workload(const dataset::Dataset& dataset,
                                                const std::string& name);
[[nodiscard]] Result<std::vector<std::size_t>> find_workloads(
    const dataset::Dataset& dataset, const std::vector<std::string>& names);

}  // namespace carpool::app
