// The attempts that were launched or found running, and whose ends have not been reported. What the
// machine does not let it see now (no descriptor, a full disk, an error of the disk) decides
// nothing: it looks again until it knows.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process/descriptor.hpp"
#include "core/executor.hpp"
#include "gpu/mps/process_identity.hpp"
#include "run/attempt_kill.hpp"
#include "run/process_executor.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor/supervisor_launch.hpp"

namespace carpool::run {

class AttemptWatch {
 public:
  [[nodiscard]] static Result<AttemptWatch> open(const ProcessExecutorSettings& settings);

  // Readable when take_reports() has something to do.
  [[nodiscard]] int descriptor() const { return epoll_.get(); }
  [[nodiscard]] const std::string& boot() const { return boot_; }

  void add_started(RunId run, const RunFolder& folder, Starter starter);
  // Running or Ended. An error says nothing about the attempt.
  [[nodiscard]] Result<FoundRun> add_found(RunId run,
                                           const RunFolder& folder,
                                           const RunClaim& claim);
  void stop(RunId run, StopMode mode);
  void pause(RunId run);
  void resume(RunId run);
  void resume_all();
  [[nodiscard]] std::vector<RunReport> take_reports();
  [[nodiscard]] std::vector<RunningJob> running();

 private:
  enum class Stage {
    Starting,   // its starter runs
    Deciding,   // the starter has ended: has the attempt begun?
    Following,  // it has begun: does its supervisor run?
    Running,
    Ending,  // the supervisor has ended: how did the attempt end?
  };
  struct Watched {
    RunId run{};
    RunFolder folder;
    Stage stage = Stage::Starting;
    Starter starter{};
    RunClaim claim{};                // of its supervisor, from Following on
    pid_t session = 0;               // of the job's processes; 0: not read yet
    Descriptor handle{};             // pidfd of the starter, then of the supervisor
    std::optional<StopMode> stop{};  // requested
    KillWatch kill_watch{};
    // When a pause that an earlier server asked for ends, unless this one asks again; in
    // boot_seconds().
    std::optional<double> inherited_pause_s{};
    std::string held_up{};  // why a stage is not completed; it is tried again
  };
  enum class Step {
    Next,   // to the next stage
    Stays,  // until the handle is readable
    Again,  // later
    Over,   // the end is reported
  };

  explicit AttemptWatch(const ProcessExecutorSettings& settings);

  [[nodiscard]] bool add_descriptor(int descriptor) const;
  gpu::Liveness watch_process(Watched& entry, pid_t pid) const;
  gpu::Liveness watch_supervisor(Watched& entry) const;
  [[nodiscard]] bool is_this_boot(const RunClaim& claim) const;
  [[nodiscard]] Result<RunExit> conclusion(RunId run,
                                           const RunFolder& folder,
                                           const RunClaim& claim) const;

  static void resume(Watched& entry);
  Step report_end(const Watched& entry, RunExit exit);
  Step await_starter(Watched& entry) const;
  Step decide(Watched& entry);
  Step follow(Watched& entry);
  Step end(Watched& entry);
  Step step(Watched& entry);
  bool advance(Watched& entry);

  [[nodiscard]] std::vector<int> readable() const;
  void look_again_soon(bool armed) const;

  ProcessExecutorSettings settings_;
  Descriptor epoll_{};
  Descriptor timer_{};  // makes `epoll_` readable when something must be tried again
  std::string boot_;
  std::map<RunId, Watched> watched_{};
  std::vector<RunReport> reports_{};
};

}  // namespace carpool::run
