// Threads of the library inside the user's process.
#pragma once

#include <cstddef>

namespace carpool::interpose {

// Starts a detached thread that takes no signal: those are the program's. `stack_bytes` 0: the
// usual size. False if the system refuses.
[[nodiscard]] bool start_thread(void* (*function)(void*), void* argument, std::size_t stack_bytes);

}  // namespace carpool::interpose
