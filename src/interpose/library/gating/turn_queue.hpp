// Launches ahead of the turn of a best-effort process: gates in its streams stop the GPU while a
// request is active, and the program need not wait for each turn. So the GPU has work as soon as a
// request has ended, and knows by itself when to stop.
#pragma once

#include "interpose/gate/policy.hpp"
#include "interpose/gate/turn_sections.hpp"
#include "interpose/library/gating/event_words.hpp"
#include "interpose/library/gating/gate_keeper.hpp"
#include "interpose/library/gating/stream_gate.hpp"
#include "interpose/library/gating/work_in_flight.hpp"

namespace carpool::interpose {

// All with the lock of the gate held.
class TurnQueue {
 public:
  void start(const gate::Policy& policy, const gate::DeviceFacts& device);

  // A launch that asks, once.
  void see(const gate::Work& work) { length_.add(work.expected_ns); }
  // Whether the launch can go ahead of its turn. Else it asks, and waits by itself: if it is too
  // long for the SLO; where the policy shares the GPU in space, the SLO leaves room for that, and
  // it pays; or while streams of the program wait for one another without a call that tells so.
  [[nodiscard]] bool takes(Client& client,
                           const gate::Work& work,
                           bool confinable,
                           gate::Nanoseconds now);
  // Whether enough is launched ahead.
  [[nodiscard]] static bool is_full(const WorkInFlight& queued, const gate::Work& work);
  // A stream of the program is about to wait for an event. `queued`: work may be behind a gate.
  void stream_waits(Handle event, const StreamPlace& place, bool queued, gate::Nanoseconds now);
  // The program has recorded an event.
  void event_recorded(Handle event, const StreamPlace& place, gate::Nanoseconds now);
  // Puts a gate in front of the launch if it needs one; false: there are none.
  [[nodiscard]] bool pass(const StreamPlace& place, const gate::Work& work, gate::Nanoseconds now);

  // The gates are closed: for so long the keeper counts the time.
  [[nodiscard]] bool is_closed() const { return gate_.closing() != 0; }

  // An event follows so much work.
  static constexpr gate::Nanoseconds kBetweenMarks = gate::kMillisecond;

  // DurationBelief::of_long().
  void expect(gate::Nanoseconds long_kernel) { keeper_.expect(long_kernel); }
  void forget(Handle context) {
    if (words_.forget(context)) {
      events_.forget();
    }
  }

 private:
  void see_stream(const StreamPlace& place, gate::Nanoseconds now);
  [[nodiscard]] std::uint64_t queue_of(const StreamPlace& place, gate::Nanoseconds now);
  // Whether the driver has all streams in one queue. A stream that waits for another one then waits
  // for what runs already: all gates in front of it were open.
  [[nodiscard]] bool in_one_queue(gate::Nanoseconds now) const {
    return one_connection_ && now >= several_queues_until_;
  }

  static constexpr std::size_t kGateWord = 0;
  static constexpr std::size_t kFirstEventWord = 64;  // in other lines than that of the gate

  HostWords words_{};
  StreamGate gate_{words_, kGateWord};
  EventWords events_{words_, kFirstEventWord};
  GateKeeper keeper_{};
  gate::TurnSections sections_{};
  gate::KernelLength length_{};
  gate::DeviceFacts device_{};
  gate::Nanoseconds section_ = 0;
  bool sliced_ = false;           // GateKeeper::Sight
  bool one_connection_ = false;   // the driver has one queue for all streams
  std::uint64_t last_queue_ = 0;  // of the last launch
  gate::Nanoseconds several_queues_until_ = 0;
  gate::Nanoseconds streams_wait_until_ = 0;  // as far as is known, for one another
  gate::Nanoseconds legacy_used_until_ = 0;
  gate::Nanoseconds blocking_used_until_ = 0;  // a stream that waits for the legacy one
  bool usable_ = false;                        // the policy takes turns
};

}  // namespace carpool::interpose
