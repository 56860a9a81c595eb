// The command of a worker: the plan's command with workload names filled in. Internal to measure/.
#pragma once

#include <span>

#include "base/process/child_process.hpp"
#include "measure/cells.hpp"

namespace carpool::measure {

// The command of one member's workload.
[[nodiscard]] Command worker_command(const Plan& plan, const Member& member);

// The command of one process that runs all these members, one thread each.
[[nodiscard]] Command streams_command(const Plan& plan, std::span<const Member> members);

}  // namespace carpool::measure
