// Learns durations of kernels: now and then, a launch is put between two timing events, which are
// read at a later launch. Nothing waits. While a capture is alive, nothing is measured and the
// driver is not called.
#pragma once

#include <cstdint>

#include "interpose/library/captures.hpp"
#include "interpose/library/devices.hpp"
#include "interpose/state/kernel_table.hpp"

namespace carpool::interpose {

// A launch that is about to be sent to the driver.
struct TimedLaunch {
  Handle function = nullptr;
  LaunchShape shape{};
  Handle stream = nullptr;
  Twin twin = Twin::Legacy;
  std::uint64_t key = 0;              // of the kernel table, of a graph; 0: that of the function
  std::uint64_t place_key = 0;        // kernel_key_after(); 0: not used
  std::uint32_t sms_permille = 1000;  // of the part of the SMs that it is confined to
  unsigned shared_bytes = 0;
};

// Of a kernel, before the gate relies on its duration.
inline constexpr std::uint32_t kEnoughSamples = 8;
// Of one that was measured beside requests only: the slices of a request may be in one of them.
inline constexpr std::uint32_t kEnoughSlowed = 3;

// Names the pair of events around a launch.
using TimingPair = std::uint32_t;
inline constexpr TimingPair kNotTimed = 0;

// How much a measurement is wanted.
enum class Sampling : std::uint8_t {
  Sparse,  // at most one launch of 16 of a thread, at most 200 a second in the process
  Eager,   // the gate waits for it
};

// Before the launch. Reads what has been measured, and decides whether this launch is measured:
// never the first launch of a kernel, which the driver may load then.
[[nodiscard]] TimingPair timing_begins(Device& device,
                                       const TimedLaunch& launch,
                                       std::uint64_t coarse_ns,
                                       Sampling sampling);
// After it.
void timing_ends(TimingPair pair, const TimedLaunch& launch, Status status);

// Before a context ends, with which its events would end. `context` 0: the primary one of the GPU.
void forget_timing(Handle context, int device);

// The driver is about to begin a capture: returns when no call of this part is under way.
void wait_for_timing();

}  // namespace carpool::interpose
