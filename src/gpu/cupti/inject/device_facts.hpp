// The properties of a device.
#pragma once

#include "gpu/cupti/inject/record_file.hpp"

namespace carpool::gpu::inject {

// Both only after the program's cuInit has returned. Properties that the driver does not report are
// 0.
[[nodiscard]] activity_format::Device device_facts(int ordinal);
// Writes them to the activity file, with the name of the device.
void write_device(int ordinal, RecordFile& file);

}  // namespace carpool::gpu::inject
