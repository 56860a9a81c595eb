// Ending MPS daemons: ours, and those that a dead process of ours left behind.
#pragma once

#include <chrono>
#include <optional>

#include "base/result.hpp"
#include "gpu/mps/mps_control.hpp"
#include "gpu/mps/process_identity.hpp"

namespace carpool::gpu {

// Asks the daemon to quit, waits up to `grace`, then kills it and its servers. Internal when it had
// to be killed or when it still had clients, which are named.
[[nodiscard]] Result<void> end_mps_daemon(const MpsControl& control,
                                          const ProcessIdentity& daemon,
                                          std::chrono::milliseconds grace);

// The process behind the pid file, when it is the daemon of this very folder.
[[nodiscard]] std::optional<ProcessIdentity> mps_daemon_in(const MpsControl& control);

// Makes a folder free whose owner is dead: its daemon, if it still runs, is ended. InvalidInput
// when the owner is alive or when a daemon answers there that is not ours. The folder is locked by
// the caller.
[[nodiscard]] Result<void> take_over(const MpsControl& control);

}  // namespace carpool::gpu
