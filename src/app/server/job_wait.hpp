// Waits for jobs, and turns their outcome into an exit code.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/command_context.hpp"
#include "app/server/server_client.hpp"
#include "base/clock.hpp"

namespace carpool::app {

// Asks again for a while when no server answers: one that restarts loses no job. `pause` waits for
// the time that it is given.
template <class Ask, class Pause>
[[nodiscard]] auto ask_through_restart(const Ask& ask, const Pause& pause) {
  constexpr double kPatience = 30.0;
  constexpr std::chrono::seconds kAskAgain{1};
  const Stopwatch watch;
  while (true) {
    auto answer = ask();
    const bool gone = !answer && answer.error().code == ErrorCode::Unavailable;
    if (!gone || watch.seconds() > kPatience) {
      return answer;
    }
    pause(kAskAgain);
  }
}

// The exit code of an ended job: its own, 128 + N after signal N, 1 when it never ran.
[[nodiscard]] int shell_code(const nlohmann::json& job);

// Waits until all have ended, says which did not succeed or do not exist, and returns how each
// ended. The exit code of the program becomes the largest of theirs, or 75 when the time limit is
// reached first.
[[nodiscard]] nlohmann::json wait_for_jobs(ServerClient& server,
                                           const std::vector<std::int64_t>& jobs,
                                           std::optional<double> limit_s,
                                           const CommandContext& context);

}  // namespace carpool::app
