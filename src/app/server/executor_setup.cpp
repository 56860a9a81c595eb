#include "app/server/executor_setup.hpp"

#include "app/server/live_progress.hpp"
#include "app/server/processor_shares.hpp"
#include "base/text/memory_size.hpp"
#include "policy/policy_registry.hpp"
#include "run/job_cgroup.hpp"

namespace carpool::app {

Result<std::optional<ShimPlace>> wanted_shim(const ServeOptions& options,
                                             const ServePlaces& places) {
  if (!options.shim) {
    return std::nullopt;
  }
  return find_shim(options, places).map([](ShimPlace place) { return std::optional(place); });
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

}  // namespace carpool::app
