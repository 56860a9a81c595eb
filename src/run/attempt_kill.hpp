// Kills the processes of an attempt without the help of its supervisor.
#pragma once

#include <optional>

#include "run/run_folder.hpp"

namespace carpool::run {

// Kills what belongs to the attempt at this moment, but not its supervisor. With a cgroup: its
// processes. Without: descendants of the supervisor and of the job's first process, as long as
// PID and start time are those recorded; processes that were started with the variable of the
// attempt; processes of the job's user that write to its output; and descendants of those. A
// process is never killed because of its PID alone, nor one of another user that was handed the
// output.
void kill_attempt(const RunFolder& folder);

// Returns when no process of the attempt is left, because another attempt may follow at once.
// Its supervisor has ended. False: the processes of this machine cannot be listed now.
[[nodiscard]] bool end_leftovers(const RunFolder& folder);

// From the moment a job is to be killed: the supervisor does it, and may do more, such as
// disconnecting the job from MPS. One that was stopped, or does nothing, is helped.
class KillWatch {
 public:
  static constexpr double kPatienceS = 5.0;
  explicit KillWatch(double patience_s = kPatienceS) : patience_s_(patience_s) {}
  void begin();
  // To be called every second or so while the supervisor exists.
  void look(const RunFolder& folder);

 private:
  double patience_s_;
  std::optional<double> next_s_{};
  bool helped_ = false;
};

}  // namespace carpool::run
