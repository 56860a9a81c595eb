// The GPUs that the process uses: its client of the shared state and its memory guard for each.
#pragma once

#include <cstdint>

#include "interpose/guard/memory_guard.hpp"
#include "interpose/library/driver_abi.hpp"
#include "interpose/library/gating/launch_gate.hpp"
#include "interpose/state/client.hpp"

namespace carpool::interpose {

struct Device {
  explicit Device(int number) : ordinal(number) {}

  Client client;
  MemoryGuard guard{client};
  LaunchGate gate{};
  int ordinal;
};

extern constinit thread_local Device* thread_device;  // NOLINT: null: not known

[[nodiscard]] Device& find_thread_device();

// That of the current context of the thread. Where that cannot be asked, because a capture is
// alive, another GPU that the process uses.
[[nodiscard]] inline Device& current_device() {
  return thread_device != nullptr ? *thread_device : find_thread_device();
}

// Its handle, as the driver tells; null if there is none. Not while a capture is alive.
[[nodiscard]] Handle thread_context();

// The thread has another context now.
inline void context_changed() {
  thread_device = nullptr;
}

// By the driver's number. Joins the shared state when it is called for a GPU for the first time.
[[nodiscard]] Device& device_of(int ordinal);

// What the job may use of a GPU, as far as that is known without joining the shared state: programs
// ask GPUs for their memory that they never use.
[[nodiscard]] std::uint64_t job_limit_of(int ordinal);

// Those that the process uses.
void for_each_device(void (*visit)(Device& device, Handle context), Handle context);

}  // namespace carpool::interpose
