// The MPS daemon that jobs of one user share on one GPU. It has a keeper, a process of its own that
// outlives carpool serve, starts the daemon, and stops it when no guard needs it any more. Guards
// say that they need it by a lock on a file, which the kernel releases however they end.
#pragma once

#include <sys/types.h>
#include <vector>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "run/guard_order.hpp"

namespace carpool::run {

// Needs the daemon from now on, and starts its keeper where none runs. While the result lives, the
// daemon does. Blocks for as long as a daemon needs to start.
[[nodiscard]] Result<Descriptor> join_mps(const GuardOrder& order);

// Ends the GPU work of these processes: without, killing one can harm its neighbours.
void drain_mps(const GuardOrder& order, const std::vector<pid_t>& processes);

// Whether a server of the daemon has failed and says so.
[[nodiscard]] bool mps_faulted(const GuardOrder& order);

// The keeper's whole life, as the user whose jobs it serves. Writes "ready" or what went wrong to
// standard output, goes to the background, and returns its exit code.
[[nodiscard]] int run_mps_keeper(const MpsPlace& place);

}  // namespace carpool::run
