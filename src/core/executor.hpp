// Starts, stops and finds again the processes of jobs: what the scheduler sees of run/ and of the
// simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/run.hpp"

namespace carpool {

enum class StopMode { Ask, Kill };  // SIGTERM and, under MPS, drain first; SIGKILL

struct RunReport {
  enum class Kind {
    Running,  // its processes exist; the scheduler acts on ends alone
    Ended,
  } kind = Kind::Running;
  RunId run{};
  RunExit exit{};  // Ended
};

// What is left of an attempt after a restart.
struct FoundRun {
  enum class State {
    NeverBegan,  // and cannot begin any more: its claim is ours now
    Running,
    Ended,
  } state = State::NeverBegan;
  RunExit exit{};
};

// Called by the scheduler's thread.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Begins the attempt; what becomes of it is reported. An error: it did not begin and will not.
  [[nodiscard]] virtual Result<void> launch(const LaunchSpec& spec) = 0;
  // Asking twice, or for one that has ended, is fine.
  virtual void stop(RunId run, StopMode mode) = 0;
  // What happened since the last call, in order. Each end is reported once.
  [[nodiscard]] virtual std::vector<RunReport> take_reports() = 0;
  // After a restart, for each attempt that the journal says began and not that it ended. A running
  // one is watched again from now on.
  [[nodiscard]] virtual Result<FoundRun> find(const LaunchSpec& spec) = 0;
};

}  // namespace carpool
