// Which streams are being captured into a graph. While any capture is alive, the library calls
// nothing of the driver on its own: such a call could invalidate the capture. So membership is
// followed from the program's own calls: begin, end, and events that lead from stream to stream.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/library/driver_abi.hpp"

namespace carpool::interpose {

// Whether a function treats stream 0 as the legacy stream or as the one of the thread.
enum class Twin : std::uint8_t { Legacy, PerThread };

// Names a stream of the process; the stream of a thread differs by thread.
using StreamKey = std::uintptr_t;
inline constexpr StreamKey kNoStream = 0;  // of calls that wait for their end

extern constinit thread_local char thread_mark;        // NOLINT: its address names the thread
extern constinit std::atomic<std::uint32_t> captures;  // NOLINT: that are alive

[[nodiscard]] inline StreamKey stream_key(Handle stream, Twin twin) {
  const auto value = reinterpret_cast<std::uintptr_t>(stream);
  if (value == kPerThreadStream || (value == 0 && twin == Twin::PerThread)) {
    return reinterpret_cast<StreamKey>(&thread_mark);
  }
  return value == 0 ? kLegacyStream : value;
}

[[nodiscard]] inline bool capture_alive() {
  return captures.load(std::memory_order_relaxed) != 0;
}

// Whether work that is sent to the stream becomes part of a graph.
[[nodiscard]] bool is_captured_slow(StreamKey stream);
[[nodiscard]] inline bool is_captured(StreamKey stream) {
  return capture_alive() && is_captured_slow(stream);
}

// The same, for work that has kernels, which are counted for the capture.
[[nodiscard]] bool add_to_capture_slow(StreamKey stream, std::uint64_t kernels);
[[nodiscard]] inline bool add_to_capture(StreamKey stream, std::uint64_t kernels) {
  return capture_alive() && add_to_capture_slow(stream, kernels);
}

// Before the driver is asked to begin, and after it has answered.
void capture_begins();
void capture_began(StreamKey stream, Status status);
// After the driver was asked to end. Returns the kernels that the capture has seen.
std::uint64_t capture_ended(StreamKey stream, Status status);
void stream_destroyed(StreamKey stream);

// An event was recorded in the stream, or the stream waits for it.
void event_recorded(Handle event, StreamKey stream);
void event_awaited(Handle event, StreamKey stream);

}  // namespace carpool::interpose
