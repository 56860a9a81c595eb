// The MPS daemon that jobs of one user share on one GPU. A keeper, a process that outlives the
// server, starts the daemon and stops it when no supervisor needs it any more. A supervisor needs
// it as long as it holds a shared lock on a file, which the kernel releases however the supervisor
// ends.
#pragma once

#include <sys/types.h>
#include <vector>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "run/supervisor_order.hpp"

namespace carpool::run {

// Starts the keeper where none runs. The daemon runs as long as the result lives. Blocks while the
// daemon starts.
[[nodiscard]] Result<Descriptor> join_mps(const SupervisorOrder& order);

// Ends the GPU work of these processes: killing a client with work in flight can harm its
// neighbours.
void drain_mps(const SupervisorOrder& order, const std::vector<pid_t>& processes);

// Whether a server of the daemon reports a fault.
[[nodiscard]] bool mps_faulted(const SupervisorOrder& order);

// The keeper, as the user of the jobs. Writes "ready" or an error message to standard output, goes
// to the background, and returns its exit code when the daemon has ended.
[[nodiscard]] int run_mps_keeper(const MpsPlace& place);

}  // namespace carpool::run
