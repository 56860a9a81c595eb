// Writes the properties of a device to the activity file.
#pragma once

#include "gpu/cupti/inject/record_file.hpp"

namespace carpool::gpu::inject {

// Only after the program's cuInit has returned. Properties that the driver does not report are 0.
void write_device(int ordinal, RecordFile& file);

}  // namespace carpool::gpu::inject
