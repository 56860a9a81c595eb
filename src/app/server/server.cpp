#include "app/server/server.hpp"

#include <algorithm>
#include <array>
#include <unistd.h>
#include <utility>

#include <climits>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/server/drain_file.hpp"
#include "app/server/energy/energy_file.hpp"
#include "app/server/job_events/job_log.hpp"
#include "app/server/processor_shares.hpp"
#include "app/server/server_knowledge.hpp"
#include "app/server/shim/shim_place.hpp"
#include "app/server/state_disk.hpp"
#include "app/version.hpp"
#include "base/log.hpp"
#include "core/latency.hpp"
#include "policy/policy_registry.hpp"
#include "serve/event_hub.hpp"
#include "serve/http/http_server.hpp"
#include "serve/metrics/metrics.hpp"
#include "serve/units.hpp"

namespace carpool::app {

// Each uses those before it; destroyed in reverse order.
struct Server::State {
  std::shared_ptr<ServerClock> clock;
  std::unique_ptr<knowledge::Beliefs> beliefs;
  std::unique_ptr<PlacementPolicy> policy;
  std::unique_ptr<store::SqliteJournal> journal;
  std::unique_ptr<schedule::Scheduler> scheduler;
  serve::EventHub events;
  serve::Metrics metrics;
  std::unique_ptr<Notices> notices;
  std::unique_ptr<StateDisk> disk;
  std::unique_ptr<serve::SchedulerLoop> loop;
  std::unique_ptr<serve::JobApi> api;
  std::unique_ptr<serve::HttpServer> http;

  // No job starts where the server was drained, or where the disk is full.
  void keep_closed(const DrainFile& drain, const std::filesystem::path& folder) {
    if (const auto since = drain.read()) {
      scheduler->set_draining(true, *since);
      log_warning(scheduler->why_no_starts());
    }
    disk = std::make_unique<StateDisk>(folder);
    look_at_disk();
    scheduler->set_closed(disk->why_closed());
  }

  // From the journal; the energy of running attempts is in a file of the folder.
  [[nodiscard]] Result<void> recover(double now_s, const std::filesystem::path& folder) const {
    Result<void> recovered = scheduler->recover(now_s, EnergyFile(folder).read());
    return recovered ? scheduler->flush() : recovered;
  }

  // The loop runs; what is moved from the backend is not used again.
  [[nodiscard]] serve::ApiParts api_parts(const ServeOptions& options,
                                          ServerBackend& backend,
                                          serve::UserLimits limits,
                                          const DrainFile& drain) {
    return {.loop = *loop,
            .journal = *journal,
            .events = events,
            .metrics = metrics,
            .log_file = std::move(backend.log_file),
            .version = std::string(kVersion),
            .mode = std::move(backend.mode),
            .policy = options.policy,
            .library = backend.library,
            .started_s = backend.clock->now_s(),
            .limits = std::move(limits),
            .shown = [this] { return clock->shown(); },
            .keep_drain =
                [this, drain](const std::optional<std::string>& by) {
                  return by ? drain.set(*by, clock->shown()(clock->now_s()))
                            : drain.clear().map([] { return std::string(); });
                },
            .prune = std::move(backend.prune),
            .knowledge =
                [this](std::optional<std::uint32_t> uid) {
                  return beliefs_object(*beliefs, uid, clock->shown());
                },
            .pids = std::move(backend.pids)};
  }

  void look_at_disk() {
    disk->look();
    metrics.disk(disk->space().total_bytes, disk->space().free_bytes, !disk->why_closed().empty());
  }

  // Runs on the scheduler's thread for every durable event.
  void on_event(const JobEvent& event) {
    const JobRecord* job = scheduler->find(event.job);
    metrics.count(event, job == nullptr ? event.at_s : job->queued_s);
    events.publish(event, job == nullptr ? JobOwner{} : job->owner, clock->shown());
    if (const std::string line = job_log_line(event, job); !line.empty()) {
      log_info(line);
    }
    notices->on_event(event, job);
  }

  void catch_up_with_notices() {
    notices->catch_up(scheduler->jobs(), [this](JobId id) -> std::optional<JobRecord> {
      if (const JobRecord* job = scheduler->find(id); job != nullptr) {
        return *job;
      }
      return journal->record_of(id).value_or(std::nullopt);
    });
  }
};

namespace {

policy::PolicySettings settings_of_policy(const ServeOptions& options, bool library) {
  policy::PolicySettings settings = policy::default_settings(options.policy);
  settings.use_mps = settings.use_mps && !options.no_mps;
  settings.caps_without_mps = library;
  if (settings.take_turns) {
    settings.max_starting = most_starting(usable_processors());
  }
  return settings;
}

bool runs_with_shim(const JobSpec& job) {
  return accepts_shim(job.env.map());
}

Result<schedule::SchedulerSettings> scheduler_settings(const ServeOptions& options,
                                                       const policy::PolicySettings& policy,
                                                       bool library) {
  const Result<schedule::QueueOrder> order = schedule::queue_order(options.order);
  const Result<schedule::RecoveryRule> recovery = schedule::recovery_rule(options.recovery);
  if (!order || !recovery) {
    return tl::unexpected(order ? recovery.error() : order.error());
  }
  constexpr std::size_t kEndedInMemory = 1000;  // older ones are read from the journal
  return schedule::SchedulerSettings{
      .order = *order,
      .recovery = *recovery,
      .stop_grace_s = options.stop_grace_s,
      .guarded = library ? runs_with_shim : std::function<bool(const JobSpec&)>(),
      .depth = policy.depth,
      .backfill = policy.backfill,
      .keep_ended = kEndedInMemory};
}

Result<serve::HttpSettings> http_settings(const ServeOptions& options, const ServePlaces& places) {
  serve::HttpSettings settings{
      .socket = places.socket, .operators = options.operators, .listen = options.listen};
  if (options.system) {
    settings.group = options.group.value_or("carpool");
  }
  std::error_code ignored;
  if (options.tokens) {
    settings.tokens =
        std::make_shared<serve::TokenStore>(std::filesystem::absolute(*options.tokens, ignored));
  }
  if (options.tls_cert && options.tls_key) {
    auto tls = serve::TlsContext::load(*options.tls_cert, *options.tls_key);
    if (!tls) {
      return tl::unexpected(tls.error());
    }
    settings.tls = std::move(*tls);
  }
  // Before any job starts.
  return serve::check_tcp(settings).map([&] { return settings; });
}

Result<serve::UserLimits> user_limits(const ServeOptions& options) {
  for (const auto& [option, group] : {std::pair("--slo-group", &options.slo_group),
                                      std::pair("--operators", &options.operators)}) {
    if (const auto known = *group ? serve::group_id(**group) : Result<std::uint32_t>(0); !known) {
      return invalid_input(fmt::format("{}: {}", option, known.error().message));
    }
  }
  return serve::UserLimits{.priority = options.user_priority.value_or(0),
                           .slo_group = options.slo_group};
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), HOST_NAME_MAX) == 0 ? name.data() : std::string();
}

}  // namespace

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  stop();
}

Result<std::unique_ptr<Server>> Server::start(const ServeOptions& options,
                                              const ServePlaces& places,
                                              std::unique_ptr<knowledge::Beliefs> beliefs,
                                              ServerBackend backend) {
  const policy::PolicySettings policy_settings = settings_of_policy(options, backend.library);
  auto policy = policy::make_placement_policy(options.policy, policy_settings);
  auto settings = scheduler_settings(options, policy_settings, backend.library);
  const auto http = http_settings(options, places);
  if (!policy) {
    return tl::unexpected(policy.error());
  }
  if (!settings || !http) {
    return tl::unexpected(settings ? http.error() : settings.error());
  }
  settings->time_text = [clock = backend.clock](double at_s) {
    return serve::show_zoned_time(clock->shown()(at_s));
  };
  auto limits = user_limits(options);
  if (!limits) {
    return tl::unexpected(limits.error());
  }
  const auto last_event_s = backend.journal->last_event_s();
  if (!last_event_s) {
    return tl::unexpected(last_event_s.error());
  }
  backend.clock->not_before(*last_event_s);
  auto state = std::make_unique<State>();
  State* parts = state.get();
  parts->clock = backend.clock;
  if (options.dcgm_names) {
    parts->metrics.use_dcgm_names(host_name());
  }
  parts->beliefs = std::move(beliefs);
  parts->policy = std::move(*policy);
  parts->journal = std::move(backend.journal);
  parts->scheduler = std::make_unique<schedule::Scheduler>(*settings,
                                                           std::move(backend.gpus),
                                                           *parts->policy,
                                                           *parts->beliefs,
                                                           *parts->journal,
                                                           backend.executor,
                                                           parts->beliefs.get());
  parts->notices = std::make_unique<Notices>(places.state / "notices", std::move(backend.notify));
  const DrainFile drain(places.state);
  parts->keep_closed(drain, places.state);
  parts->scheduler->on_event([parts](const JobEvent& event) { parts->on_event(event); });
  if (const auto recovered = parts->recover(backend.clock->now_s(), places.state); !recovered) {
    return tl::unexpected(recovered.error());
  }
  parts->catch_up_with_notices();
  backend.loop.clock = [clock = backend.clock] { return clock->now_s(); };
  backend.loop.on_decision = [parts](double seconds) { parts->metrics.decision(seconds); };
  auto loop = serve::SchedulerLoop::start(*parts->scheduler, std::move(backend.loop));
  if (!loop) {
    return tl::unexpected(loop.error());
  }
  parts->loop = std::move(*loop);
  parts->api = std::make_unique<serve::JobApi>(
      parts->api_parts(options, backend, std::move(*limits), drain));
  auto server = serve::HttpServer::start(*parts->api, *http);
  if (!server) {
    return tl::unexpected(server.error());
  }
  parts->http = std::move(*server);
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

serve::SchedulerLoop& Server::loop() {
  return *state_->loop;
}

serve::Metrics& Server::metrics() {
  return state_->metrics;
}

const knowledge::Beliefs& Server::beliefs() const {
  return *state_->beliefs;
}

void Server::prune(const serve::PruneRequest& wanted) {
  const auto report = state_->api->prune_outputs(wanted);
  if (!report) {
    log_warning(fmt::format("old outputs stay: {}", report.error().message));
  } else if (!report->removed.empty()) {
    log_info(fmt::format("removed the outputs of {} ended attempts, {} MiB",
                         report->removed.size(),
                         report->bytes >> 20U));
  }
}

void Server::log_failed_notices() const {
  state_->notices->log_failures();
}

void Server::look_at_disk() {
  StateDisk& disk = *state_->disk;
  const std::string before = disk.why_closed();
  state_->look_at_disk();
  if (disk.why_closed() != before) {
    state_->loop->post(serve::PostTopic::Disk,
                       [why = disk.why_closed()](schedule::Scheduler& scheduler, double) {
                         scheduler.set_closed(why);
                       });
  }
}

void Server::stop() {
  state_->events.close();  // ends waiting requests first
  if (state_->http) {
    state_->http->stop();
  }
  if (state_->loop) {
    state_->loop->stop();
  }
}

}  // namespace carpool::app
