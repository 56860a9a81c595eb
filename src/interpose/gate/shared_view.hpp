// What a policy sees, put together from the words that the clients of a GPU write to the shared
// state. A process that asks knows its own work; of the others it knows what they have published.
#pragma once

#include <cstdint>
#include <span>

#include "interpose/gate/gate_view.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose::gate {

// A request goes on for this long after the last sign of its client, or less if the client has
// learned that (quiet_time.hpp).
inline constexpr Nanoseconds kQuietTime = DetectorSettings{}.quiet_ns;
// The same while the client has not waited for what it launched: a host that is slow or busy lets
// more time pass between two launches of a request.
inline constexpr Nanoseconds kUnfinishedQuietTime = kMillisecond;
// After which the next launch is that of another request.
[[nodiscard]] inline Nanoseconds quiet_time_of(const ClientGate& gate) {
  return gate.commands_in_flight.load(std::memory_order_relaxed) == 0 ? kQuietTime
                                                                      : kUnfinishedQuietTime;
}
// A client without a sign for this long has no request.
inline constexpr Nanoseconds kSloLease = DetectorSettings{}.lease_ns;
// Work of another best-effort client that is overdue by this does not count: a client learns that
// its work is done when it launches again.
inline constexpr Nanoseconds kOverdue = 5 * kMillisecond;

// The process that asks.
struct SharedCaller {
  std::uint32_t slot = 0;
  Nanoseconds held_for = 0;
  Nanoseconds start_tag = 0;  // of the launch that is asked for
  Nanoseconds in_flight_ns = 0;
  Nanoseconds confined_ns = 0;
  Nanoseconds since_drained_ns = 0;
  Nanoseconds began = kNever;             // the oldest of it on all SMs; kNever: none is there
  Nanoseconds ends_in = kNever;           // if no request was active meanwhile
  Nanoseconds confined_ends_in = kNever;  // as in BestEffortView
  std::uint32_t commands = 0;
  std::uint64_t sms = 0;        // that they would occupy side by side
  Nanoseconds long_kernel = 0;  // DurationBelief::of_long()
  // When the process of a slot was last seen to run: a sign of one that waits for the GPU.
  std::span<const Nanoseconds> alive{};
};

// What an SLO client does, by its words.
struct SloSign {
  RequestPhase phase = RequestPhase::Idle;
  Nanoseconds idle_at = 0;
};
[[nodiscard]] SloSign sign_of(const ClientGate& gate, Nanoseconds now, Nanoseconds seen_alive = 0);

// Whether an SLO client in another slot has given a sign since then.
[[nodiscard]] bool slo_client_signed(const SharedState& state,
                                     std::uint32_t slot,
                                     Nanoseconds since);
// Or may have had work on the GPU since then: kernels of this one may have run beside it.
[[nodiscard]] bool slo_client_worked(const SharedState& state,
                                     std::uint32_t slot,
                                     Nanoseconds since);

// Whether the measured tail of every SLO client is so far below its SLO that work may run beside
// its requests. `before`: the last answer, which is kept in between.
[[nodiscard]] bool slos_leave_room(const SharedState& state, bool before);

// Whether all SLO clients are clients of MPS: else kernels do not run beside theirs, and the driver
// slices the time of the GPU.
[[nodiscard]] bool slos_in_mps(const SharedState& state);

// Whether the slot is that of an SLO client. It may have ended.
[[nodiscard]] bool is_slo_client(const ClientSlot& slot);

// `device`: as the process that asks has it.
[[nodiscard]] GateView shared_view(const SharedState& state,
                                   const DeviceFacts& device,
                                   const SharedCaller& caller,
                                   Nanoseconds now);

// For a launch of the SLO client in this slot: its own slack, and the least of the others'. Clients
// of its own job are left out: they may wait for one another.
[[nodiscard]] GateView shared_slo_view(const SharedState& state,
                                       std::uint32_t slot,
                                       Nanoseconds now);

// The largest start tag that best-effort clients have published.
[[nodiscard]] Nanoseconds shared_virtual_time(const SharedState& state);

}  // namespace carpool::interpose::gate
