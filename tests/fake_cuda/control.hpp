// What the fake tells beside the driver's functions, exported under these names.
#pragma once

#include <cstdint>

extern "C" {

// One of the counts of counts.hpp by its name, in this process; ~0 if there is no such name.
std::uint64_t fake_cuda_count(const char* name);
// The same, for all processes that ever used the device.
std::uint64_t fake_cuda_total(const char* name);
// How often this process called an exported function, for example cuLaunchKernel_ptsz; ~0 if there
// is no such function.
std::uint64_t fake_cuda_calls(const char* function);
// Bytes of a device that all processes hold now, and the most that they ever held together.
std::uint64_t fake_cuda_device_used(int gpu);
std::uint64_t fake_cuda_device_peak(int gpu);
// Virtual clock: lets this much time pass.
void fake_cuda_pass_time(std::int64_t ns);
// Nanoseconds on the device's clock.
std::int64_t fake_cuda_now();
}
