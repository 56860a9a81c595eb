// Starts a program; child_process.cpp watches it.
#pragma once

#include <sys/types.h>

#include "base/process/child_process.hpp"
#include "base/result.hpp"

namespace carpool {

// Open descriptors that become 0, 1 and 2 of the child; the caller keeps them.
struct StandardStreams {
  int in = -1;
  int out = -1;
  int err = -1;
};

// The child runs in a process group of its own with an empty signal mask and default signal
// handling, and inherits no other descriptor.
[[nodiscard]] Result<pid_t> spawn(const Command& command, const StandardStreams& streams);

// An empty signal mask and default handling: for a child, between fork and exec.
void default_signals();

// 0, 1 and 2 lead nowhere from now on, also where /dev/null cannot be opened: for a process that
// goes to the background.
void leave_streams();

}  // namespace carpool
