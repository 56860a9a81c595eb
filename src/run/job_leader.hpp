// The first process of a job: created, held back until it is recorded on disk, then released.
#pragma once

#include <string>
#include <sys/types.h>

#include "base/process/descriptor.hpp"
#include "run/start_trouble.hpp"
#include "run/supervisor/own_outputs.hpp"
#include "run/supervisor/supervisor_order.hpp"

namespace carpool::run {

// For a single-threaded process. The job's process leads a session, runs as the user of the job,
// and is killed when its parent dies.
class JobLeader {
 public:
  // Creates the process, which waits for let_go().
  [[nodiscard]] static Started<JobLeader> make(const SupervisorOrder& order);

  [[nodiscard]] pid_t pid() const { return pid_; }

  // Executes the job's program. On an error the process has ended.
  [[nodiscard]] Started<void> let_go();
  // The files that the job names for its output, when let_go() has returned.
  [[nodiscard]] OwnOutputs take_own_outputs() const { return receive_own_outputs(outputs_.get()); }

 private:
  JobLeader(pid_t pid, Descriptor go, Descriptor trouble, Descriptor outputs)
      : pid_(pid), go_(std::move(go)), outputs_(std::move(outputs)), trouble_(std::move(trouble)) {}
  pid_t pid_;
  Descriptor go_;
  Descriptor outputs_;  // a socket
  Descriptor trouble_;  // carries write_trouble(); closed when the program runs
};

}  // namespace carpool::run
