// How `carpool serve` sets up what starts its jobs.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/serve_options.hpp"
#include "app/server/serve_places.hpp"
#include "app/server/server.hpp"
#include "app/server/shim/shim_jobs.hpp"
#include "app/server/shim/shim_place.hpp"
#include "app/server/shim/shim_watch.hpp"
#include "run/process_executor.hpp"

namespace carpool::app {

// For jobs that run with the library in front of the driver; null without it.
struct ShimParts {
  std::shared_ptr<ShimJobs> jobs{};
  std::shared_ptr<ShimWatch> watch{};
};

// To be called before this program has threads. Nothing with --no-shim, and where the library or
// the driver is not found, which the log tells.
[[nodiscard]] std::optional<ShimPlace> wanted_shim(const ServeOptions& options,
                                                   const ServePlaces& places);

[[nodiscard]] ShimParts shim_parts(const std::optional<ShimPlace>& place,
                                   const std::vector<GpuView>& gpus);

// All but the clock. `gpus`: how many share the processors of the machine.
[[nodiscard]] run::ProcessExecutorSettings executor_settings(const ServeOptions& options,
                                                             const ServePlaces& places,
                                                             const std::string& journal,
                                                             std::size_t gpus,
                                                             const std::shared_ptr<ShimJobs>& shim);

// What the server needs of an executor with these settings, which outlives it.
[[nodiscard]] ServerBackend gpu_backend(const run::ProcessExecutorSettings& running,
                                        run::ProcessExecutor& executor,
                                        std::vector<GpuView> gpus,
                                        const std::shared_ptr<ServerClock>& clock,
                                        std::unique_ptr<store::SqliteJournal> journal);

}  // namespace carpool::app
