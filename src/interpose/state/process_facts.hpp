// What a process writes about itself into its slot.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace carpool::interpose {

// When a process started, since boot: field 22 of /proc/PID/stat; PID 0 is this process. 0 if the
// process does not exist.
[[nodiscard]] std::uint64_t start_ticks_of(pid_t pid);

// Tells apart equal PIDs of containers; 0 if unknown.
[[nodiscard]] std::uint64_t own_pid_namespace();

// Whether there is such a process, and it is neither stopped nor dead.
[[nodiscard]] bool process_runs(pid_t pid);

}  // namespace carpool::interpose
