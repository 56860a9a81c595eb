#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "app/cli/command_context.hpp"
#include "app/inputs/sources.hpp"
#include "app/server/live_gpus.hpp"
#include "app/server/serve_places.hpp"
#include "app/server/server.hpp"
#include "app/server/service_notify.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/process/stop_signals.hpp"
#include "knowledge/activity_interference.hpp"
#include "knowledge/model_interference.hpp"
#include "run/process_executor.hpp"
#include "run/run_folder.hpp"
#include "simulate/cluster_spec.hpp"
#include "simulate/server_executor.hpp"

namespace carpool::app {
namespace {

// By profiles and measured groups where they are named, else by how busy each keeps a GPU.
Result<std::unique_ptr<InterferenceModel>> make_co_run(const ServeOptions& options,
                                                       const CommandContext& context) {
  if (!options.data) {
    return std::make_unique<knowledge::ActivityInterference>();
  }
  const Result<dataset::Dataset> dataset = open_dataset(options.data, context.config);
  if (!dataset) {
    return tl::unexpected(dataset.error());
  }
  ModelOptions wanted;
  wanted.data = options.data;
  auto model = obtain_model(wanted, *dataset, context.config, context.output.progress());
  if (!model) {
    return tl::unexpected(model.error());
  }
  return knowledge::ModelInterference::create(std::move(*model), dataset->profiles)
      .map([](std::unique_ptr<knowledge::ModelInterference> made)
               -> std::unique_ptr<InterferenceModel> { return made; });
}

// Until a signal comes or the scheduler cannot go on.
Result<void> stay(Server& server, StopSignals& signals) {
  const auto watchdog = watchdog_interval();
  const std::chrono::nanoseconds interval =
      watchdog ? std::chrono::nanoseconds(*watchdog) / 3 : std::chrono::nanoseconds(1'000'000'000);
  std::uint64_t seen = 0;
  notify_service("READY=1");
  while (!signals.wait_for(interval)) {
    if (const auto failure = server.loop().failure()) {
      return tl::unexpected(*failure);
    }
    // A loop that hangs is not reported alive; one that has nothing to do still turns.
    if (const std::uint64_t turns = server.loop().turns(); turns != seen) {
      seen = turns;
      notify_service("WATCHDOG=1");
    }
  }
  notify_service("STOPPING=1");
  return {};
}

Result<void> serve_gpus(const ServeOptions& options,
                        const ServePlaces& places,
                        const CommandContext& context,
                        StopSignals& signals) {
  Result<observe::UsableGpus> gpus = find_gpus(!options.no_mps);
  if (!gpus) {
    return fail(
        gpus.error().code,
        fmt::format("{}\n`carpool serve --simulated 2xA100-40` shows the server without one.",
                    gpus.error().message));
  }
  auto executor = run::ProcessExecutor::open({.runs = places.runs(), .mps = places.mps()});
  auto interference = make_co_run(options, context);
  if (!executor || !interference) {
    return tl::unexpected(executor ? interference.error() : executor.error());
  }
  const auto log_file = [runs = places.runs()](RunId run, serve::LogStream stream) {
    const run::RunFolder folder = run::RunFolder::of(runs, run);
    return stream == serve::LogStream::Out ? folder.stdout_file() : folder.stderr_file();
  };
  auto server = Server::start(options,
                              places,
                              std::move(*interference),
                              {.executor = **executor,
                               .gpus = gpus->views,
                               .loop = {.wake_descriptor = (*executor)->wake_descriptor()},
                               .log_file = log_file,
                               .mode = "gpus"});
  if (!server) {
    return tl::unexpected(server.error());
  }
  const observe::ObserverSettings observing{.summary = options.window == "risk"
                                                           ? observe::WindowSummary::Risk
                                                           : observe::WindowSummary::Mean};
  auto watcher = watch_gpus(*gpus, **executor, (*server)->loop(), observing);
  log_info(fmt::format("{} GPUs, policy {}, order {}; listening on {}",
                       gpus->views.size(),
                       options.policy,
                       options.order,
                       places.socket.string()));
  const Result<void> stayed = stay(**server, signals);
  watcher.reset();
  (*server)->stop();
  log_info("the server has ended; jobs that run go on, and the next server finds them");
  return stayed;
}

// A clock that runs faster than the machine's from now on.
std::function<double()> fast_clock(double speed) {
  return
      [began_s = epoch_seconds(), speed] { return began_s + (epoch_seconds() - began_s) * speed; };
}

Result<void> serve_simulated(const ServeOptions& options,
                             const ServePlaces& places,
                             const CommandContext& context,
                             StopSignals& signals) {
  const Result<simulate::ClusterSpec> cluster = simulate::parse_cluster(*options.simulated);
  auto for_policy = make_co_run(options, context);
  auto for_jobs = make_co_run(options, context);
  if (!cluster || !for_policy || !for_jobs) {
    return tl::unexpected(cluster ? (for_policy ? for_jobs.error() : for_policy.error())
                                  : cluster.error());
  }
  const std::function<double()> clock = fast_clock(options.speed);
  const auto executor = simulate::make_server_executor(*cluster, **for_jobs, clock);
  const auto observe = [&executor](schedule::Scheduler& scheduler, double now_s) {
    for (const GpuObservation& observation : executor->observe_all()) {
      scheduler.observe(observation, now_s);
    }
  };
  constexpr double kLookEvery = 0.1;
  auto server = Server::start(options,
                              places,
                              std::move(*for_policy),
                              {.executor = *executor,
                               .gpus = simulate::empty_gpus(*cluster),
                               .loop = {.look_every_s = kLookEvery,
                                        .clock = clock,
                                        .speed = options.speed,
                                        .each_turn = observe},
                               .mode = "simulated"});
  if (!server) {
    return tl::unexpected(server.error());
  }
  log_info(fmt::format("{} simulated, {:g} times as fast as real ones; listening on {}",
                       *options.simulated,
                       options.speed,
                       places.socket.string()));
  const Result<void> stayed = stay(**server, signals);
  (*server)->stop();
  return stayed;
}

}  // namespace

Result<void> run_serve(const ServeOptions& options, const CommandContext& context) {
  StopSignals signals;  // before any thread
  const Result<ServePlaces> places = make_places(options);
  if (!places) {
    return tl::unexpected(places.error());
  }
  return options.simulated ? serve_simulated(options, *places, context, signals)
                           : serve_gpus(options, *places, context, signals);
}

}  // namespace carpool::app
