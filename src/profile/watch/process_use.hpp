// Processor time and main memory of a program and its descendants.
#pragma once

#include <sys/types.h>

namespace carpool::profile {

struct ProcessUse {
  double cpu_seconds = 0.0;   // of all its processes
  double memory_share = 0.0;  // resident, of the machine's memory
};

// Of the running processes of a process group; zeros if there are none.
[[nodiscard]] ProcessUse process_use(pid_t group);

}  // namespace carpool::profile
