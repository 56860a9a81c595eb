#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "app/cli/command_table.hpp"
#include "app/cli/serve_options.hpp"
#include "app/inputs/sources.hpp"
#include "app/server/gpu_lock.hpp"
#include "app/server/live_gpus.hpp"
#include "app/server/serve_places.hpp"
#include "app/server/server.hpp"
#include "app/server/service_notify.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/process/stop_signals.hpp"
#include "base/server_clock.hpp"
#include "knowledge/activity_interference.hpp"
#include "knowledge/model_interference.hpp"
#include "run/job_cgroup.hpp"
#include "run/process_executor.hpp"
#include "run/run_folder.hpp"
#include "simulate/cluster_spec.hpp"
#include "simulate/server_executor.hpp"
#include "store/journal_backup.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::app {
namespace {

void add_access_options(OptionSet& options, ServeOptions& serve) {
  options.flag("--system",
               serve.system,
               "Serve all users of this machine, as root: /run/carpool, /var/lib/carpool; a job "
               "runs as the user who submits it");
  options.option("--group",
                 &serve.group,
                 "GROUP",
                 "With --system: group whose members may connect (default: carpool)");
  options.option("--operators",
                 &serve.operators,
                 "GROUP",
                 "Group whose members see and change the jobs of all users, as root does");
  options.option("--user-priority",
                 &serve.user_priority,
                 "N",
                 "Highest priority that users who are not operators may choose (default: 0)");
  options.option("--slo-group",
                 &serve.slo_group,
                 "GROUP",
                 "Group whose members may submit jobs of class slo, as operators may");
  options.option("--listen",
                 &serve.listen,
                 "HOST:PORT",
                 "TCP address to listen on too; TCP callers must send a token");
  options.option("--tokens",
                 &serve.tokens,
                 "FILE",
                 "With --listen: file with lines \"TOKEN user\", mode 0600");
}

void add_scheduling_options(OptionSet& options, ServeOptions& serve) {
  options.option("--policy",
                 &serve.policy,
                 "NAME",
                 "Placement policy (default: carpool; see carpool policies)");
  options.option(
      "--order", &serve.order, "NAME", "Queue order: fifo, shortest, hrrn, fair (default)");
  options.option("--recovery",
                 &serve.recovery,
                 "NAME",
                 "Rule after an out-of-memory failure: reserve (default), carma, aegis");
  options.option("--window",
                 &serve.window,
                 "NAME",
                 "Summary of the samples of a GPU (default: mean)",
                 {.choices = {"mean", "risk"}});
  options.option("--data",
                 &serve.data,
                 "DIR",
                 "Dataset whose model predicts interference, for jobs by their --workload");
  options.flag("--no-mps", serve.no_mps, "Share GPUs by time slicing only");
  options.option("--stop-grace",
                 &serve.stop_grace_s,
                 "SECONDS",
                 "Time between asking a job to stop and killing it (default: 30)",
                 {.check = seconds_from(0.0)});
}

void add_serve_options(OptionSet& options, ServeOptions& serve) {
  add_socket(options, serve.server);
  options.option("--state", &serve.state, "DIR", "Folder of the queue and the outputs of jobs");
  add_scheduling_options(options, serve);
  add_access_options(options, serve);
  options.option("--simulated",
                 &serve.simulated,
                 "GPUS",
                 "Simulated GPUs, for example 2xA100-40; no job is really run");
  options.option("--speed",
                 &serve.speed,
                 "X",
                 "Speed of simulated time, as a factor (default: 60)",
                 {.check = above_zero()});
}

// Of --data where it is given, else by how busy each job keeps a GPU.
Result<std::unique_ptr<InterferenceModel>> make_interference(const ServeOptions& options,
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

// A failure costs no job: the journal itself is in order.
void keep_backup(const ServePlaces& places) {
  if (const auto written = store::back_up(places.state); !written) {
    log_warning(fmt::format("the backup of the journal failed: {}", written.error().message));
  }
}

// Until a signal arrives, the scheduler fails or a GPU is lost to another server. Backs the journal
// up at the start and daily. `locks`: none of simulated GPUs.
Result<void> stay(Server& server,
                  const ServePlaces& places,
                  StopSignals& signals,
                  const GpuLocks* locks) {
  constexpr double kDay = 86'400.0;
  std::optional<Stopwatch> since_backup;
  const auto watchdog = watchdog_interval();
  const std::chrono::nanoseconds interval =
      watchdog ? std::chrono::nanoseconds(*watchdog) / 3 : std::chrono::nanoseconds(1'000'000'000);
  std::uint64_t seen = 0;
  notify_service("READY=1");
  while (!signals.wait_for(interval)) {
    if (const auto failure = server.loop().failure()) {
      return tl::unexpected(*failure);
    }
    if (const Result<void> kept = locks == nullptr ? Result<void>() : locks->keep(); !kept) {
      return kept;
    }
    if (!since_backup || since_backup->seconds() > kDay) {
      keep_backup(places);
      since_backup.emplace();
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

Result<void> serve_gpus(const ServeOptions& options,
                        const ServePlaces& places,
                        const CommandContext& context,
                        StopSignals& signals) {
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
  auto journal = store::SqliteJournal::open(places.state, {});
  if (!journal) {
    return tl::unexpected(journal.error());
  }
  const auto clock = std::make_shared<ServerClock>(ServerClock::kept_in(places.state / "clock"));
  const run::ProcessExecutorSettings running{.runs = places.runs(),
                                             .mps = places.mps(),
                                             .journal = (*journal)->identity(),
                                             .clock = [clock] { return clock->now_s(); },
                                             .cgroups = run::job_cgroups()};
  auto executor = run::ProcessExecutor::open(running);
  auto interference = make_interference(options, context);
  if (!executor || !interference) {
    return tl::unexpected(executor ? interference.error() : executor.error());
  }
  const auto log_file = [running](RunId run, serve::LogStream stream) {
    const run::RunFolder folder = run::RunFolder::of(running.runs, run);
    if (!folder.belongs_to(running.journal)) {
      return std::filesystem::path{};
    }
    return stream == serve::LogStream::Out ? folder.stdout_file() : folder.stderr_file();
  };
  auto server = Server::start(options,
                              places,
                              std::move(*interference),
                              {.executor = **executor,
                               .gpus = gpus->views,
                               .clock = clock,
                               .loop = {.wake_descriptor = (*executor)->wake_descriptor()},
                               .log_file = log_file,
                               .mode = "gpus",
                               .journal = std::move(*journal)});
  if (!server) {
    return tl::unexpected(server.error());
  }
  const observe::ObserverSettings observing{.summary = options.window == "risk"
                                                           ? observe::WindowSummary::Risk
                                                           : observe::WindowSummary::Mean};
  auto watcher = watch_gpus(*gpus, **executor, (*server)->loop(), observing);
  if (!watcher) {
    return tl::unexpected(watcher.error());
  }
  log_info(fmt::format("{} GPU{}, policy {}, order {}; listening on {}",
                       gpus->views.size(),
                       gpus->views.size() == 1 ? "" : "s",
                       options.policy,
                       options.order,
                       places.socket.string()));
  const Result<void> stayed = stay(**server, places, signals, &*locks);
  watcher->reset();
  (*server)->stop();
  keep_backup(places);
  log_info("server stopped; running jobs continue, and the next server takes them over");
  return stayed;
}

Result<void> serve_simulated(const ServeOptions& options,
                             const ServePlaces& places,
                             const CommandContext& context,
                             StopSignals& signals) {
  const Result<simulate::ClusterSpec> cluster = simulate::parse_cluster(*options.simulated);
  auto for_policy = make_interference(options, context);
  auto for_jobs = make_interference(options, context);
  if (!cluster || !for_policy || !for_jobs) {
    return tl::unexpected(cluster ? (for_policy ? for_jobs.error() : for_policy.error())
                                  : cluster.error());
  }
  auto journal = store::SqliteJournal::open(places.state, {});
  if (!journal) {
    return tl::unexpected(journal.error());
  }
  const auto clock = std::make_shared<ServerClock>(ServerClock::unkept(options.speed));
  const auto executor =
      simulate::make_server_executor(*cluster, **for_jobs, [clock] { return clock->now_s(); });
  const auto observe = [&executor](schedule::Scheduler& scheduler, double now_s) {
    for (const GpuObservation& observation : executor->observe_all()) {
      scheduler.observe(observation, now_s);
    }
  };
  constexpr double kLookEvery = 0.1;
  auto server = Server::start(
      options,
      places,
      std::move(*for_policy),
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
  const Result<void> stayed = stay(**server, places, signals, nullptr);
  (*server)->stop();
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
