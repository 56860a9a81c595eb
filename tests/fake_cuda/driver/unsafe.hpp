// Calls that a capture forbids.
#pragma once

#include "driver.hpp"

namespace fake_cuda {

// For a call that would synchronise or allocate. Breaks the captures that forbid it to this thread,
// and gives the code then.
Result forbid_in_capture(Driver& driver);

}  // namespace fake_cuda
