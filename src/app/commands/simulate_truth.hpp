// What `carpool simulate` takes for true: the speeds of jobs beside each other.
#pragma once

#include <filesystem>
#include <memory>

#include "app/cli/command_context.hpp"
#include "app/commands/simulate_options.hpp"
#include "core/interference_model.hpp"
#include "simulate/trace/trace.hpp"

namespace carpool::app {

// That of --data, else of the bundled pair table.
[[nodiscard]] Result<std::filesystem::path> pair_folder(const SimulateOptions& options);

// As --truth says.
[[nodiscard]] Result<std::unique_ptr<InterferenceModel>> open_truth(const SimulateOptions& options,
                                                                    const simulate::Trace& trace,
                                                                    const Config& config);

}  // namespace carpool::app
