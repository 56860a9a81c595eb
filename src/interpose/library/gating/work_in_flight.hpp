// Best-effort work that was sent to the driver and is not known to be done. Launches of a stream
// are counted in batches; an event behind a batch tells that it is done. While a capture is alive,
// the driver is not called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "interpose/gate/work.hpp"
#include "interpose/library/captures.hpp"
#include "interpose/library/driver_abi.hpp"

namespace carpool::interpose {

// Where a launch goes.
struct StreamPlace {
  Handle stream = nullptr;
  Twin twin = Twin::Legacy;
};

class WorkInFlight {
 public:
  // A launch that is about to go to the driver. What does not fit is not counted.
  void add(const StreamPlace& place, const gate::Work& work, gate::Nanoseconds now);

  // Puts an event behind what the stream has got, once the batch is this long.
  void mark(const StreamPlace& place, gate::Nanoseconds at_least);

  // Asks the driver what is done.
  void reclaim(gate::Nanoseconds now);

  // By bounds; and by means, since none was in flight.
  [[nodiscard]] gate::Nanoseconds bound() const { return bound_; }
  [[nodiscard]] gate::Nanoseconds since_drained() const { return since_drained_; }
  [[nodiscard]] std::uint32_t commands() const { return commands_; }
  // SMs that its launches would occupy side by side.
  [[nodiscard]] std::uint64_t sms() const { return sms_; }
  // When all of it is done if no bound is exceeded.
  [[nodiscard]] gate::Nanoseconds due() const { return due_; }
  // The same by means.
  [[nodiscard]] gate::Nanoseconds likely_due() const { return likely_due_; }
  // In how long all of it is done by bounds, at least: if the oldest batch takes longer than its
  // bound, the others have not begun.
  [[nodiscard]] gate::Nanoseconds ends_in(gate::Nanoseconds now) const;
  // When the oldest launch was made that is not known to be done.
  [[nodiscard]] gate::Nanoseconds began() const;

  // What was found to be done since the last call, by means.
  [[nodiscard]] gate::Nanoseconds take_finished();

  // Before a context ends, with which its events would end.
  void forget(Handle context);

 private:
  static constexpr std::size_t kBatches = 64;
  static constexpr std::uint32_t kMostCommands = 16;  // of a batch
  // Of a batch without an event, because its stream got no more launches: then it counts as done.
  static constexpr gate::Nanoseconds kUnmarkedGrace = 5 * gate::kMillisecond;

  enum class State : std::uint8_t { Free, Open, Marked };
  struct Batch {
    State state = State::Free;
    StreamKey stream = kNoStream;
    std::uint32_t commands = 0;
    std::uint64_t sms = 0;
    gate::Nanoseconds bound = 0;
    gate::Nanoseconds expected = 0;
    gate::Nanoseconds due = 0;
    gate::Nanoseconds began = 0;
    // Kept for the next batch of this place.
    Handle event = nullptr;
    Handle context = nullptr;
  };

  [[nodiscard]] Batch* open_batch(StreamKey stream);
  [[nodiscard]] Batch* new_batch(StreamKey stream, gate::Nanoseconds now);
  // Null: nothing is in flight.
  [[nodiscard]] const Batch* oldest() const;
  [[nodiscard]] static bool has_event(Batch& batch);
  static void destroy_event(Batch& batch);
  void done(Batch& batch);

  std::array<Batch, kBatches> batches_{};
  std::size_t oldest_ = 0;
  std::size_t used_ = 0;  // places from the oldest on; free ones may be among them
  gate::Nanoseconds bound_ = 0;
  gate::Nanoseconds expected_ = 0;
  gate::Nanoseconds since_drained_ = 0;
  gate::Nanoseconds finished_ = 0;
  gate::Nanoseconds due_ = 0;
  gate::Nanoseconds likely_due_ = 0;
  gate::Nanoseconds seen_running_ = 0;  // when the driver last said that a batch is not done
  std::uint32_t commands_ = 0;
  std::uint64_t sms_ = 0;
  std::uint32_t unfinished_ = 0;  // batches
};

}  // namespace carpool::interpose
