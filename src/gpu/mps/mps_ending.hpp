// Ends MPS daemons: those of this process and those that a dead process left.
#pragma once

#include <chrono>
#include <optional>

#include "base/result.hpp"
#include "gpu/mps/mps_control.hpp"
#include "gpu/mps/process_identity.hpp"

namespace carpool::gpu {

// Asks the daemon to quit, waits up to `grace`, then kills it and its servers. Internal if it had
// to be killed or had clients, which the message names.
[[nodiscard]] Result<void> end_mps_daemon(const MpsControl& control,
                                          const ProcessIdentity& daemon,
                                          std::chrono::milliseconds grace);

// The process of the pid file if it is the daemon of this folder.
[[nodiscard]] std::optional<ProcessIdentity> mps_daemon_in(const MpsControl& control);

// Frees the folder of a dead owner and ends its daemon if that still runs. Conflict if the
// owner is alive, InvalidInput if another daemon answers there. The caller holds the lock of the
// folder.
[[nodiscard]] Result<void> take_over(const MpsControl& control);

}  // namespace carpool::gpu
