// Starts, stops and finds again the processes of jobs. Implemented by run/ and by the simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/run.hpp"

namespace carpool {

enum class StopMode { Ask, Kill };  // SIGTERM, under MPS after draining; SIGKILL

struct RunReport {
  enum class Kind {
    Running,  // its processes exist: the machine could start it
    Ended,
  } kind = Kind::Running;
  RunId run{};
  RunExit exit{};  // Ended
};

// What is left of an attempt after a restart.
struct FoundRun {
  enum class State {
    NeverBegan,  // and cannot begin any more
    Running,
    Ended,
  } state = State::NeverBegan;
  RunExit exit{};
};

// An error says how the attempt ended: it did not begin and will not.
using Launched = tl::expected<void, RunExit>;

// Called by the thread of the scheduler.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Begins the attempt, whose end is reported later.
  [[nodiscard]] virtual Launched launch(const LaunchSpec& spec) = 0;
  // May be called twice, or for an attempt that has ended.
  virtual void stop(RunId run, StopMode mode) = 0;
  // All processes of the attempt stand still, and go on. Both may be called twice, for an attempt
  // that has ended, or for one that stop() ends anyway.
  virtual void pause(RunId run) = 0;
  virtual void resume(RunId run) = 0;
  // What happened since the last call, in order. Each end is reported once.
  [[nodiscard]] virtual std::vector<RunReport> take_reports() = 0;
  // After a restart, for each attempt that began and has no end in the journal. A running one is
  // watched again from now on.
  [[nodiscard]] virtual Result<FoundRun> find(const LaunchSpec& spec) = 0;
};

}  // namespace carpool
