// What a supervisor does with the MPS daemon that jobs of one user share on one GPU. A keeper
// (mps_keeper.hpp) starts and stops the daemon. A supervisor needs it as long as it holds a shared
// lock on a file, which the kernel releases however the supervisor ends.
#pragma once

#include <sys/types.h>
#include <vector>

#include "base/process/descriptor.hpp"
#include "gpu/mps/process_identity.hpp"
#include "run/mps/mps_fault.hpp"
#include "run/mps/mps_locks.hpp"
#include "run/start_trouble.hpp"
#include "run/supervisor/supervisor_order.hpp"

namespace carpool::run {

// The daemon runs as long as this lives.
struct MpsUse {
  Descriptor lock{};
  Descriptor old_lock{};          // where a keeper of an older version runs
  gpu::ProcessIdentity daemon{};  // as it was when the job started
  MpsLogs logs{};                 // at that time
};

// Starts the keeper where none runs, and waits while the daemon starts. Trouble is the machine's;
// `stop_heard` ends the wait.
[[nodiscard]] Started<MpsUse> join_mps(const SupervisorOrder& order, const StopHeard& stop_heard);

// Ends a daemon whose keeper was killed, where this was its last use.
void leave_mps(const SupervisorOrder& order, MpsUse use);

// Ends the GPU work of these processes: killing a client with work in flight can harm its
// neighbours.
void drain_mps(const SupervisorOrder& order, const std::vector<pid_t>& processes);

}  // namespace carpool::run
