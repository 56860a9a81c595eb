// Starts the process that forks a supervisor.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "base/process/descriptor.hpp"
#include "core/run.hpp"
#include "run/process_executor.hpp"
#include "run/run_folder.hpp"
#include "run/start_trouble.hpp"
#include "run/supervisor/supervisor_order.hpp"

namespace carpool::run {

// Creates it, with mode 0700, and its parents.
[[nodiscard]] Result<void> make_private_folder(const std::filesystem::path& path);
// The folder of an MPS daemon, which belongs to the user of its jobs.
[[nodiscard]] Result<void> make_daemon_folder(const std::filesystem::path& folder, uid_t uid);

struct Starter {
  pid_t pid = 0;
  Descriptor words{};  // its standard output, in memory
};

// The starter's environment is a minimal one: that of the server may hold secrets.
[[nodiscard]] Started<Starter> start_supervisor(const ProcessExecutorSettings& settings,
                                                const LaunchSpec& spec,
                                                const RunFolder& folder);

// Why the starter says that the attempt cannot begin; nothing: it does not say.
[[nodiscard]] std::optional<StartTrouble> told_by(const Starter& starter);

// Starts `carpool guard --notice` with this order.
[[nodiscard]] Result<pid_t> start_notice_process(const ProcessExecutorSettings& settings,
                                                 const SupervisorOrder& order);

// Starts to end MPS daemons that have neither a keeper nor a user.
void sweep_mps_daemons(const ProcessExecutorSettings& settings);

}  // namespace carpool::run
