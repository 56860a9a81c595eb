// The server put together: scheduler, journal, API, and whatever runs the jobs.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/job_options.hpp"
#include "app/server/serve_places.hpp"
#include "base/result.hpp"
#include "core/interference_model.hpp"
#include "schedule/scheduler.hpp"
#include "serve/job_api.hpp"
#include "serve/scheduler_loop.hpp"

namespace carpool::app {

// Who runs the jobs. The executor outlives the server.
struct ServerBackend {
  Executor& executor;
  std::vector<GpuView> gpus{};
  serve::LoopSettings loop{};
  std::function<std::filesystem::path(RunId, serve::LogStream)> log_file{};
  std::string mode{};
};

class Server {
 public:
  // Everything that was left is found again; callers are answered from now on.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(
      const ServeOptions& options,
      const ServePlaces& places,
      std::unique_ptr<InterferenceModel> interference,
      ServerBackend backend);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  [[nodiscard]] serve::SchedulerLoop& loop();
  // Callers are sent away, then the scheduler stops. Jobs go on.
  void stop();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carpool::app
