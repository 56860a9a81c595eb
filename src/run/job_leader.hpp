// The first process of a job: made, held back until it is on record, then let go.
#pragma once

#include <string>
#include <sys/types.h>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "run/guard_order.hpp"

namespace carpool::run {

// Used by a process of one thread. The job's process leads a session of its own, runs as its own
// user, and is killed when the process that made it dies.
class JobLeader {
 public:
  // It exists, and waits.
  [[nodiscard]] static Result<JobLeader> make(const GuardOrder& order);

  [[nodiscard]] pid_t pid() const { return pid_; }

  // Lets it run the job's program. An error: it could not, and the process has ended.
  [[nodiscard]] Result<void> let_go();

 private:
  JobLeader(pid_t pid, Descriptor go, Descriptor trouble)
      : pid_(pid), go_(std::move(go)), trouble_(std::move(trouble)) {}
  pid_t pid_;
  Descriptor go_;
  Descriptor trouble_;  // says what went wrong, or ends when the program runs
};

}  // namespace carpool::run
