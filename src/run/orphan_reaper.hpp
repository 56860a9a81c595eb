// A process above a supervisor, for machines where jobs have no cgroup. When the supervisor is
// killed, what it leaves is inherited by this process, whatever its session and environment, and
// is killed.
#pragma once

#include <chrono>

#include "base/process/descriptor.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {

// For a single-threaded process.
class OrphanReaper {
 public:
  // Forks. Returns in the child, which goes on as the supervisor; the parent becomes the reaper,
  // closes `starter` and never returns. Without a second process the supervisor goes on alone.
  [[nodiscard]] static OrphanReaper above_this_process(const RunFolder& folder,
                                                       Descriptor& starter);

  // From now on it inherits. Not before: the keeper of an MPS daemon, which is left behind on
  // purpose, must not be killed with the job.
  void begin();

 private:
  OrphanReaper() = default;
  Descriptor order_{};
  Descriptor answer_{};
};

// Waits until the reaper of the attempt has ended; false when it still exists after `limit`.
[[nodiscard]] bool await_orphan_reaper(const RunFolder& folder, std::chrono::milliseconds limit);

}  // namespace carpool::run
