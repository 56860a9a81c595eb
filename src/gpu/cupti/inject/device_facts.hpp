// What the driver tells of a device, into the activity file.
#pragma once

#include "gpu/cupti/inject/record_file.hpp"

namespace carpool::gpu::inject {

// Only once the program's cuInit has returned. What the driver does not tell stays 0.
void write_device(int ordinal, RecordFile& file);

}  // namespace carpool::gpu::inject
