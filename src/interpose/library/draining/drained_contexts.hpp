// The contexts whose work is waited for before the process ends.
#pragma once

#include "interpose/library/driver_abi.hpp"

namespace carpool::interpose {

// `primary`: the number of the GPU whose primary context it is, else negative. One that is there is
// not added again; what does not fit is not waited for.
void add_drained_context(Handle context, int primary);
void remove_drained_context(Handle context);

// Waits for the work of all of them, in a thread that waits for nothing else: on a GPU that hangs,
// it does not return. No capture is alive. A context that is broken, as after an error of the MPS
// server, or was terminated answers at once.
void wait_for_drained_contexts();

}  // namespace carpool::interpose
