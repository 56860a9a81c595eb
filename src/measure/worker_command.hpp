// How a worker is started: the plan's command with the names filled in. Internal to measure/.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "base/child_process.hpp"
#include "measure/cells.hpp"

namespace carpool {

// The command of one seat's workload.
[[nodiscard]] Command worker_command(const Plan& plan, const Seat& seat);

// The command of one process that holds all these seats, a thread each.
[[nodiscard]] Command streams_command(const Plan& plan, std::span<const Seat> seats);

// What keeps a process from finding an MPS daemon, whoever runs it; `nowhere` must not exist.
[[nodiscard]] std::map<std::string, std::string> environment_without_mps(
    const std::string& gpu_uuid, const std::filesystem::path& nowhere);

}  // namespace carpool
