// The job of `carpool run`: says why it waits, and is cancelled by Ctrl-C.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "app/server/job_wait.hpp"
#include "app/server/server_client.hpp"
#include "base/process/stop_signals.hpp"
#include "base/result.hpp"

namespace carpool::app {

class WatchedJob {
 public:
  static constexpr std::chrono::milliseconds kLookEvery{200};

  // Signals are kept from now on: create it before other threads and processes start.
  explicit WatchedJob(ServerClient& server) : server_(server) {}

  // To be called first.
  [[nodiscard]] Result<void> submit(const nlohmann::json& request);
  [[nodiscard]] std::int64_t id() const { return id_; }
  [[nodiscard]] ServerClient& server() { return server_; }

  // The job as it is now. Says on standard error why it waits, and later that it has started.
  [[nodiscard]] Result<nlohmann::json> look();
  // Waits that long. SIGINT, SIGTERM or SIGHUP cancels the job and ends the wait; the next one ends
  // this process.
  void pause(std::chrono::milliseconds span);
  void cancel();
  // As ask_through_restart(), with pause().
  template <class Ask>
  [[nodiscard]] auto ask(const Ask& request) {
    return ask_through_restart(request, [this](std::chrono::seconds span) { pause(span); });
  }

 private:
  void tell(const nlohmann::json& job);
  void try_cancel();

  ServerClient& server_;
  std::int64_t id_ = 0;
  std::optional<StopSignals> signals_{std::in_place};
  bool cancel_wanted_ = false;  // and not yet accepted by the server
  std::string seen_reason_;     // of the last look; told when the next one still finds it
  std::string told_reason_;
};

[[nodiscard]] bool has_ended(const nlohmann::json& job);

}  // namespace carpool::app
