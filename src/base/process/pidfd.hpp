// A descriptor that stands for one process, whatever becomes of its number. Called by number:
// the declarations of glibc 2.36 cannot be linked from C++.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/process/descriptor.hpp"

namespace carpool {

// Readable when the process has ended; not valid where there is no such process or kernel.
[[nodiscard]] inline Descriptor open_pidfd(pid_t pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
}

inline bool signal_pidfd(const Descriptor& process, int signal) {
  return ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0U) == 0;
}

}  // namespace carpool
