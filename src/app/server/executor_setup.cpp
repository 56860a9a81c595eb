#include "app/server/executor_setup.hpp"

#include <utility>

#include <fmt/format.h>

#include "app/server/live_gpus.hpp"
#include "app/server/live_progress.hpp"
#include "app/server/output_pruning.hpp"
#include "app/server/processor_shares.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text/memory_size.hpp"
#include "policy/policy_registry.hpp"
#include "run/job_cgroup.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor/notice.hpp"

namespace carpool::app {
namespace {

// Empty: the attempt is of another journal.
std::filesystem::path output_of(const run::ProcessExecutorSettings& running,
                                RunId run,
                                serve::LogStream stream) {
  const run::RunFolder folder = run::RunFolder::of(running.runs, run);
  if (!folder.belongs_to(running.journal)) {
    return {};
  }
  return stream == serve::LogStream::Out ? folder.stdout_file() : folder.stderr_file();
}

}  // namespace

std::optional<ShimPlace> wanted_shim(const ServeOptions& options, const ServePlaces& places) {
  if (options.no_shim) {
    return std::nullopt;
  }
  Result<ShimPlace> place = find_shim(options, places);
  if (!place) {
    log_warning(fmt::format(
        "jobs run without the library in front of the driver: {}. Memory is limited by MPS alone, "
        "and latencies are not kept; carpool doctor tells more, and --no-shim silences this",
        place.error().message));
    return std::nullopt;
  }
  return *std::move(place);
}

ShimParts shim_parts(const std::optional<ShimPlace>& place, const std::vector<GpuView>& gpus) {
  return place ? ShimParts{.jobs = std::make_shared<ShimJobs>(*place, gpus),
                           .watch = std::make_shared<ShimWatch>(*place)}
               : ShimParts{};
}

run::ProcessExecutorSettings executor_settings(const ServeOptions& options,
                                               const ServePlaces& places,
                                               const std::string& journal,
                                               std::size_t gpus,
                                               const std::shared_ptr<ShimJobs>& shim) {
  run::ProcessExecutorSettings running{.runs = places.runs(),
                                       .mps = places.mps(),
                                       .journal = journal,
                                       .cgroups = run::job_cgroups()};
  running.progress = progress_place(places.progress(running.journal), !options.no_profile_windows);
  running.openmp_threads =
      options.openmp_threads.value_or(policy::default_settings(options.policy).take_turns
                                          ? openmp_threads(usable_processors(), gpus)
                                          : 0);
  if (options.output_limit != "none") {
    running.output_limit_bytes = parse_memory_size(options.output_limit).value_or(0);
  }
  if (shim) {
    running.shim = [shim](const LaunchSpec& spec, const run::Variables& env) {
      return shim->start(spec, env);
    };
    running.before_resume = [shim](RunId) { shim->update(); };
    running.refused = [shim](RunId run) { return shim->refused(run); };
  }
  return running;
}

ServerBackend gpu_backend(const run::ProcessExecutorSettings& running,
                          run::ProcessExecutor& executor,
                          std::vector<GpuView> gpus,
                          const std::shared_ptr<ServerClock>& clock,
                          std::unique_ptr<store::SqliteJournal> journal) {
  // Outside of MPS nothing but the library keeps its memory, and other jobs from its requests.
  for (GpuView& gpu : gpus) {
    gpu.slo_outside_mps = gpu.slo_outside_mps && running.shim != nullptr;
  }
  return {
      .executor = executor,
      .gpus = std::move(gpus),
      .clock = clock,
      .loop = {.wake_descriptor = executor.wake_descriptor()},
      .log_file = [running](RunId run,
                            serve::LogStream stream) { return output_of(running, run, stream); },
      .prune =
          [running](const serve::PruneRequest& wanted) {
            return prune_outputs(running.runs, running.journal, wanted, epoch_seconds());
          },
      .notify =
          [running, clock](const JobRecord& job, const std::filesystem::path& folder) {
            return run::start_notice(running, job, folder, clock->shown());
          },
      .mode = "gpus",
      .library = running.shim != nullptr,
      .pids = [&executor] { return job_pids(executor); },
      .journal = std::move(journal)};
}

}  // namespace carpool::app
