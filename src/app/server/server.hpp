// The server, assembled: scheduler, journal, API and executor.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/serve_options.hpp"
#include "app/server/job_events/notices.hpp"
#include "app/server/serve_places.hpp"
#include "base/result.hpp"
#include "base/server_clock.hpp"
#include "knowledge/beliefs.hpp"
#include "schedule/scheduler.hpp"
#include "serve/job_api.hpp"
#include "serve/scheduler_loop.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::app {

// What runs the jobs. The executor outlives the server.
struct ServerBackend {
  Executor& executor;
  std::vector<GpuView> gpus{};
  std::shared_ptr<ServerClock> clock{};
  serve::LoopSettings loop{};  // without its clock
  std::function<std::filesystem::path(RunId, serve::LogStream)> log_file{};
  std::function<serve::PruneReport(const serve::PruneRequest&)> prune{};
  Notices::Start notify{};  // empty: jobs run no command at their end
  std::string mode{};
  bool library = false;  // jobs that share run with the library in front of the driver
  std::function<std::vector<serve::JobPids>()> pids{};  // as ApiParts::pids
  std::unique_ptr<store::SqliteJournal> journal{};
};

class Server {
 public:
  // Recovers the jobs of the previous server, then accepts requests.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(
      const ServeOptions& options,
      const ServePlaces& places,
      std::unique_ptr<knowledge::Beliefs> beliefs,
      ServerBackend backend);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  [[nodiscard]] serve::SchedulerLoop& loop();
  [[nodiscard]] serve::Metrics& metrics();
  // What it has learned; changes while the server runs.
  [[nodiscard]] const knowledge::Beliefs& beliefs() const;
  // Removes outputs of ended jobs; failures are logged.
  void prune(const serve::PruneRequest& wanted);
  // Looks at the disk of the state folder, about once a second: while it is full no job starts.
  void look_at_disk();
  // Writes to the log which notices of ended jobs failed.
  void log_failed_notices() const;
  // Ends all requests, then the scheduler. Running jobs continue.
  void stop();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carpool::app
