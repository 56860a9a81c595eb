// Processor time and main memory of a program and what it started.
#pragma once

#include <sys/types.h>

namespace carpool::profile {

struct ProcessUse {
  double cpu_seconds = 0.0;   // of all its processes so far
  double memory_share = 0.0;  // resident, of the machine's
};

// Of the living processes of one group; zeros where there are none.
[[nodiscard]] ProcessUse process_use(pid_t group);

}  // namespace carpool::profile
