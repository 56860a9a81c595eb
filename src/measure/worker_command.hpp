// How a worker is started: the plan's command with the names filled in. Internal to measure/.
#pragma once

#include <span>

#include "base/process/child_process.hpp"
#include "measure/cells.hpp"

namespace carpool::measure {

// The command of one seat's workload.
[[nodiscard]] Command worker_command(const Plan& plan, const Seat& seat);

// The command of one process that holds all these seats, a thread each.
[[nodiscard]] Command streams_command(const Plan& plan, std::span<const Seat> seats);

}  // namespace carpool::measure
