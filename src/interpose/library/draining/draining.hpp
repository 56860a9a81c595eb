// A process under MPS that is asked to end (SIGTERM, SIGINT) first lets its GPU work end: a client
// that dies with work in flight can take its neighbours with it. docs/shim.md describes it.
#pragma once

#include <atomic>

#include "interpose/library/driver_abi.hpp"

namespace carpool::interpose {

// A context of the program was made. With the first one of a process under MPS, the signals that
// would end it are taken over: never one that the program handles or ignores. `primary`: the number
// of the GPU whose primary context it is, else negative.
void context_to_drain(Handle context, int primary);
// Before it ends; null: a primary one may.
void context_ends(Handle context);

extern constinit std::atomic<bool> draining;  // NOLINT: shared by all threads

// Both return if the process does not end after all; the second also if a capture is alive.
void wait_for_end();
void hold_work();

// Before work is sent to the GPU, but for work that becomes part of a graph.
inline void stop_if_draining() {
  if (draining.load(std::memory_order_relaxed)) [[unlikely]] {
    hold_work();
  }
}

// In the child after a fork: its signals end it as they would without the library.
void forget_draining();

}  // namespace carpool::interpose
