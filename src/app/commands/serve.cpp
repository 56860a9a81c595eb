#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/cli/command_table.hpp"
#include "app/cli/serve_options.hpp"
#include "app/inputs/sources.hpp"
#include "app/server/executor_setup.hpp"
#include "app/server/gpu_lock.hpp"
#include "app/server/live_gpus.hpp"
#include "app/server/live_progress.hpp"
#include "app/server/serve_places.hpp"
#include "app/server/server.hpp"
#include "app/server/server_knowledge.hpp"
#include "app/server/service_notify.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/process/stop_signals.hpp"
#include "base/server_clock.hpp"
#include "knowledge/activity_interference.hpp"
#include "knowledge/model_interference.hpp"
#include "run/process_executor.hpp"
#include "serve/http/listening.hpp"
#include "serve/units.hpp"
#include "simulate/cluster_spec.hpp"
#include "simulate/server_executor.hpp"
#include "store/journal_backup.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::app {
namespace {

// The model of --data knows workloads by their profile; null without --data.
Result<std::unique_ptr<InterferenceModel>> profiled_workloads(const ServeOptions& options,
                                                              const CommandContext& context) {
  if (!options.data) {
    return std::unique_ptr<InterferenceModel>();
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

// Beliefs of another GPU or driver are less sure.
std::string driver_of(const observe::UsableGpus& gpus) {
  return gpus.watched.empty()
             ? std::string()
             : fmt::format("{}, driver {}", gpus.watched.front().name, gpus.watched.front().driver);
}

// A failure costs no job: the journal itself is in order.
void keep_backup(const ServePlaces& places) {
  if (const auto written = store::back_up(places.state); !written) {
    log_warning(fmt::format("the backup of the journal failed: {}", written.error().message));
  }
}

// Removes outputs that are old enough.
class OutputKeeping {
 public:
  explicit OutputKeeping(const ServeOptions& options) {
    if (options.keep_outputs) {
      // The option was checked where it was read.
      age_s_ = serve::parse_seconds(*options.keep_outputs).value();
    }
  }
  void look(Server& server) {
    constexpr double kHour = 3600.0;
    if (age_s_ && (!since_pruned_ || since_pruned_->seconds() > kHour)) {
      server.prune({.older_than_s = age_s_});
      since_pruned_.emplace();
    }
  }

 private:
  std::optional<double> age_s_;
  std::optional<Stopwatch> since_pruned_;
};

// Until a signal arrives, the scheduler fails or a GPU is lost to another server. Backs the journal
// up at the start and daily. `locks`: none of simulated GPUs.
Result<void> stay(Server& server,
                  const ServeOptions& options,
                  const ServePlaces& places,
                  StopSignals& signals,
                  const GpuLocks* locks) {
  constexpr double kDay = 86'400.0;
  constexpr double kMinute = 60.0;
  std::optional<Stopwatch> since_backup;
  Stopwatch since_saved;
  const auto watchdog = watchdog_interval();
  constexpr std::chrono::nanoseconds kSecond = std::chrono::seconds(1);  // a disk fills quickly
  const std::chrono::nanoseconds interval =
      watchdog ? std::min(std::chrono::nanoseconds(*watchdog) / 3, kSecond) : kSecond;
  std::uint64_t seen = 0;
  OutputKeeping outputs(options);
  notify_service("READY=1");
  while (!signals.wait_for(interval)) {
    if (const auto failure = server.loop().failure()) {
      return tl::unexpected(*failure);
    }
    if (const Result<void> kept = locks == nullptr ? Result<void>() : locks->keep(); !kept) {
      return kept;
    }
    server.look_at_disk();
    server.log_failed_notices();
    outputs.look(server);
    if (!since_backup || since_backup->seconds() > kDay) {
      keep_backup(places);
      since_backup.emplace();
    }
    if (since_saved.seconds() > kMinute) {
      save_beliefs(server.beliefs(), places.state);
      since_saved = Stopwatch();
    }
    // Only a loop that turns is reported alive; an idle one turns too.
    if (const std::uint64_t turns = server.loop().turns(); turns != seen) {
      seen = turns;
      notify_service("WATCHDOG=1");
    }
  }
  notify_service("STOPPING=1");
  return {};
}

void say_ready(std::size_t gpus, const ServeOptions& options, const ServePlaces& places) {
  log_info(fmt::format("{} GPU{}, policy {}, order {}; listening on {}",
                       gpus,
                       gpus == 1 ? "" : "s",
                       options.policy,
                       options.order,
                       places.socket.string()));
}

// Where another server has the socket, the folder is not marked as that of this kind of server.
Result<std::unique_ptr<store::SqliteJournal>> open_journal(const ServePlaces& places,
                                                           bool simulated) {
  return serve::check_unused(places.socket).and_then([&] {
    return store::SqliteJournal::open(places.state, {.simulated = simulated});
  });
}

Result<void> serve_gpus(const ServeOptions& options,
                        const ServePlaces& places,
                        const CommandContext& context,
                        StopSignals& signals) {
  const std::optional<ShimPlace> shim_place = wanted_shim(options, places);
  Result<observe::UsableGpus> gpus = find_gpus(!options.no_mps);
  if (!gpus) {
    return fail(
        gpus.error().code,
        fmt::format("{}\n`carpool serve --simulated 2xA100-40` runs the server without a GPU.",
                    gpus.error().message));
  }
  const Result<GpuLocks> locks =
      GpuLocks::take(gpus->views, {.system = options.system, .socket = places.socket});
  if (!locks) {
    return tl::unexpected(locks.error());
  }
  auto journal = open_journal(places, /*simulated=*/false);
  auto job_map = open_job_map(options.dcgm_job_map, gpus->watched);
  if (!journal || !job_map) {
    return tl::unexpected(journal ? job_map.error() : journal.error());
  }
  const auto clock = std::make_shared<ServerClock>(ServerClock::kept_in(places.state / "clock"));
  const ShimParts shim = shim_parts(shim_place, gpus->views);
  run::ProcessExecutorSettings running =
      executor_settings(options, places, (*journal)->identity(), gpus->views.size(), shim.jobs);
  running.clock = [clock] { return clock->now_s(); };
  auto executor = run::ProcessExecutor::open(running);
  auto profiled = profiled_workloads(options, context);
  if (!executor || !profiled) {
    return tl::unexpected(executor ? profiled.error() : executor.error());
  }
  auto server =
      Server::start(options,
                    places,
                    open_beliefs(places.state,
                                 {.driver = driver_of(*gpus), .gate = shim_place.has_value()},
                                 std::move(*profiled)),
                    gpu_backend(running, **executor, gpus->views, clock, std::move(*journal)));
  if (!server) {
    return tl::unexpected(server.error());
  }
  const observe::ObserverSettings observing{.summary = options.window == "risk"
                                                           ? observe::WindowSummary::Risk
                                                           : observe::WindowSummary::Mean};
  auto watcher = watch_gpus(
      *gpus,
      **executor,
      (*server)->loop(),
      {.observing = observing,
       .running = running,
       .record_kernels = options.kernel_windows,
       .shim = shim.watch,
       .shim_jobs = shim.jobs,
       .job_map = std::move(*job_map),
       .energy = std::make_shared<EnergyFile>(places.state),
       .gates = [&server](auto seen) { (*server)->metrics().gates(std::move(seen)); },
       .readings = [&server](auto seen) { (*server)->metrics().gpus(std::move(seen)); }});
  if (!watcher) {
    return tl::unexpected(watcher.error());
  }
  say_ready(gpus->views.size(), options, places);
  const Result<void> stayed = stay(**server, options, places, signals, &*locks);
  watcher->reset();
  (*server)->stop();
  save_beliefs((*server)->beliefs(), places.state);
  (*executor)->resume_all();
  keep_backup(places);
  log_info("server stopped; running jobs continue, and the next server takes them over");
  return stayed;
}

Result<void> serve_simulated(const ServeOptions& options,
                             const ServePlaces& places,
                             const CommandContext& context,
                             StopSignals& signals) {
  const Result<simulate::ClusterSpec> cluster = simulate::parse_cluster(*options.simulated);
  auto profiled = profiled_workloads(options, context);
  auto truth = profiled_workloads(options, context);
  if (!cluster || !profiled || !truth) {
    return tl::unexpected(cluster ? (profiled ? truth.error() : profiled.error())
                                  : cluster.error());
  }
  if (!*truth) {
    *truth = std::make_unique<knowledge::ActivityInterference>();
  }
  auto journal = open_journal(places, /*simulated=*/true);
  if (!journal) {
    return tl::unexpected(journal.error());
  }
  const auto clock = std::make_shared<ServerClock>(ServerClock::unkept(options.speed));
  const auto executor =
      simulate::make_server_executor(*cluster, **truth, [clock] { return clock->now_s(); });
  const auto observe = [&executor](schedule::Scheduler& scheduler, double now_s) {
    for (const GpuObservation& observation : executor->observe_all()) {
      scheduler.observe(observation, now_s);
    }
  };
  constexpr double kLookEvery = 0.1;
  auto server = Server::start(
      options,
      places,
      open_beliefs(places.state, {.driver = "simulated"}, std::move(*profiled)),
      {.executor = *executor,
       .gpus = simulate::empty_gpus(*cluster),
       .clock = clock,
       .loop = {.look_every_s = kLookEvery, .speed = options.speed, .each_turn = observe},
       .mode = "simulated",
       .journal = std::move(*journal)});
  if (!server) {
    return tl::unexpected(server.error());
  }
  log_info(fmt::format("{} simulated at {:g} times real speed; listening on {}",
                       *options.simulated,
                       options.speed,
                       places.socket.string()));
  const Result<void> stayed = stay(**server, options, places, signals, nullptr);
  (*server)->stop();
  save_beliefs((*server)->beliefs(), places.state);
  keep_backup(places);
  return stayed;
}

Result<void> run_serve(const ServeOptions& options, const CommandContext& context) {
  StopSignals signals;  // before any thread
  const Result<ServePlaces> places = make_places(options);
  if (!places) {
    return tl::unexpected(places.error());
  }
  return options.simulated ? serve_simulated(options, *places, context, signals)
                           : serve_gpus(options, *places, context, signals);
}

}  // namespace

CommandSpec serve_command() {
  return make_command(add_serve_options,
                      run_serve,
                      {"carpool serve",
                       "carpool serve --simulated 2xA100-40 --speed 60",
                       "carpool serve --system --operators wheel"},
                      "SIGTERM stops the server and leaves jobs running; the next server takes "
                      "them over.");
}

}  // namespace carpool::app
