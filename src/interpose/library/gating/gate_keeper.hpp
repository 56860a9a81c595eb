// Opens and closes the gate in the streams of a best-effort process, as the requests of the SLO
// clients come and end. In a thread of its own: the program may be anywhere meanwhile.
#pragma once

#include <atomic>

#include "interpose/gate/decision.hpp"
#include "interpose/gate/shared_view.hpp"
#include "interpose/library/gating/stream_gate.hpp"
#include "interpose/library/gating/waiting_clients.hpp"
#include "interpose/state/client.hpp"

namespace carpool::interpose {

class GateKeeper {
 public:
  // What it has seen last.
  struct Sight {
    bool fresh = false;                 // it looks, and has done so lately
    bool sliced = false;                // the driver slices the time between it and SLO clients
    bool room = false;                  // the measured tails leave room for work beside requests
    std::uint32_t closed_permille = 0;  // part of the time that requests take
    gate::Nanoseconds section = 0;      // most work between two gates
    gate::Nanoseconds longest = 0;      // most of one launch
  };

  // Before a launch that may go through the gate. Starts the thread, or wakes it.
  [[nodiscard]] Sight look(Client& client,
                           StreamGate& gate,
                           const gate::DeviceFacts& device,
                           gate::Nanoseconds now);
  // Whether launches go through the gate. Only then its being closed counts as a hold.
  void use(bool used) { used_.store(used, std::memory_order_relaxed); }
  // For the minimum share: DurationBelief::of_long().
  void expect(gate::Nanoseconds long_kernel) {
    long_kernel_.store(long_kernel, std::memory_order_relaxed);
  }

 private:
  static void* run(void* self);
  void keep();
  void park();
  void look_once(gate::Nanoseconds now);
  [[nodiscard]] gate::GateView view_of(const SharedState& state, gate::Nanoseconds now);
  [[nodiscard]] gate::Decision decide(const gate::GateView& view, gate::Nanoseconds now);
  void publish(const SharedState& state, const gate::GateView& view, gate::Nanoseconds now);
  void wait_closed(const gate::Decision& decision,
                   gate::Nanoseconds remaining,
                   gate::Nanoseconds now);
  void count_hold(gate::HoldReason reason, gate::Nanoseconds now);
  void count_time(bool closed, gate::Nanoseconds span);

  // Set before the thread starts.
  Client* client_ = nullptr;
  StreamGate* gate_ = nullptr;
  gate::DeviceFacts device_{};

  // Of the thread alone.
  WaitingClients alive_{};
  gate::Nanoseconds closed_at_ = 0;  // 0: open
  gate::Nanoseconds counted_at_ = 0;
  gate::Nanoseconds may_spin_ = 0;  // while the gate is closed this time
  gate::HoldReason reason_ = gate::HoldReason::None;
  gate::Nanoseconds looked_for_ = 0;  // of the last seconds
  gate::Nanoseconds closed_for_ = 0;  // of these

  bool tried_ = false;
  std::atomic<std::uint32_t> wakes_{0};
  std::atomic<bool> parked_{false};
  std::atomic<bool> used_{false};
  std::atomic<gate::Nanoseconds> launched_at_{0};
  std::atomic<gate::Nanoseconds> looked_at_{0};
  std::atomic<gate::Nanoseconds> long_kernel_{0};
  std::atomic<gate::Nanoseconds> section_{0};
  std::atomic<gate::Nanoseconds> longest_{0};
  std::atomic<bool> sliced_{false};
  std::atomic<bool> room_{false};
  std::atomic<std::uint32_t> closed_permille_{0};
};

}  // namespace carpool::interpose
