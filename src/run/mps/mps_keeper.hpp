// The keeper of an MPS daemon: a process as the user of the jobs that outlives the server, starts
// the daemon, and stops it when no supervisor needs it any more.
#pragma once

#include <string>

#include "base/process/descriptor.hpp"
#include "run/mps/mps_locks.hpp"
#include "run/start_trouble.hpp"
#include "run/supervisor/supervisor_order.hpp"

namespace carpool::run {

// Returns when the keeper is ready or has failed. The keeper holds the start lock as well: if this
// supervisor is killed meanwhile, the next one does not start a second keeper. It has an
// environment of its own and no descriptor but those that it needs.
[[nodiscard]] Started<void> start_mps_keeper(const SupervisorOrder& order,
                                             const Descriptor& start_lock,
                                             const StartWait& wait);

// The keeper itself. Descriptor 0 holds the start lock, 1 is told "ready" or an error message,
// and 3 is the file that each supervisor that needs the daemon locks. Takes over a daemon whose
// keeper was killed. Goes to the background, and returns its exit code when the daemon has ended.
[[nodiscard]] int run_mps_keeper(const std::string& gpu_uuid, const std::string& folder);

}  // namespace carpool::run
