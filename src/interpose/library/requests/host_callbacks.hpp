// An SLO job may learn by a callback of the driver that its work is done, and call nothing
// meanwhile. So one of the library, which calls the program's, takes its place: until then the
// program counts as waiting for the GPU.
#pragma once

#include "interpose/library/driver_abi.hpp"
#include "interpose/library/requests/slo_wait.hpp"

namespace carpool::interpose {

struct ProgramCallback {
  HostFunction function = nullptr;       // of cuLaunchHostFunc,
  StreamFunction with_status = nullptr;  // or of cuStreamAddCallback
  void* data = nullptr;
};

// For a callback behind what is awaited: the data of the library's. Null: the driver gets the
// program's as it is, because there is no request, or no place for one more.
void* keep_callback(const Call& call, const ProgramCallback& callback, const Awaited& awaited);
// The driver has not taken it.
void forget_callback(void* kept);

// A wait or a question has ended with this status. After an error of the context the driver may
// drop the callbacks that it has: the program waits for them no longer.
void see_errors(const Call& call, Status status);

// With what keep_callback() returned.
void run_host_function(void* kept);
void run_stream_function(Handle stream, Status status, void* kept);

}  // namespace carpool::interpose
