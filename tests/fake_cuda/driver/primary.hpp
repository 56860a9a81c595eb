// Primary contexts: each green context holds that of its device.
#pragma once

#include "../abi/types.hpp"

namespace fake_cuda {

Result retain_primary(Context** context, int device);
// For the last holder, or for all of them.
Result release_primary(int device, bool reset);

}  // namespace fake_cuda
