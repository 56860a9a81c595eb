// The pause of a job, as its supervisor keeps it: the processes stand still as long as the file
// `pause` of the run folder exists. Nothing stands still for ever: a request to stop and the end of
// the job end the pause, and so does the lack of a server.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "run/run_folder.hpp"
#include "run/supervisor/supervised_processes.hpp"

namespace carpool::run {

class JobPause {
 public:
  // A server that restarts is back by then; one that is not will not end the pause.
  static constexpr double kMostWithoutServerS = 300.0;

  // `processes` outlives it.
  JobPause(RunFolder folder,
           SupervisedProcesses& processes,
           double most_without_server_s = kMostWithoutServerS)
      : folder_(std::move(folder)),
        processes_(processes),
        most_without_server_s_(most_without_server_s) {}

  // Does what the folder asks for. To be called every second or so while the job is held.
  void look();
  [[nodiscard]] bool held() const { return held_; }
  // The job goes on, whatever the folder asks for from now on.
  void end();

 private:
  void hold();
  void release();

  RunFolder folder_;
  SupervisedProcesses& processes_;
  double most_without_server_s_;
  bool held_ = false;
  bool all_stand_ = false;
  bool ended_ = false;
  std::optional<double> alone_since_s_{};  // boot_seconds() when the server was seen to be gone
};

// What the server does: writes or removes the request, and wakes the supervisor.
[[nodiscard]] Result<void> request_pause(const RunFolder& folder, const std::string& journal);
[[nodiscard]] Result<void> withdraw_pause(const RunFolder& folder);

}  // namespace carpool::run
