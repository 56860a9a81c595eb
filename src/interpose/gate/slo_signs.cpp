// What the signs of SLO clients in the shared state tell.
#include <algorithm>

#include "interpose/gate/shared_view.hpp"
#include "interpose/gate/shared_words.hpp"

namespace carpool::interpose::gate {
namespace {

// A client that waits for the GPU gives no sign; one that was stopped meanwhile gives none again.
constexpr Nanoseconds kLongestBusy = 10 * kSecond;

// It has launched something, waits for nothing, and has enough left to launch.
[[nodiscard]] bool is_launching(const ClientGate& gate) {
  const std::uint64_t commands = gate.commands_in_flight.load(std::memory_order_relaxed);
  return commands != 0 && commands < gate.open_commands.load(std::memory_order_relaxed) &&
         gate.waiting.load(std::memory_order_relaxed) == 0;
}

// How long the request of a busy client goes on without a sign. Work that the program does not wait
// for yet, and may never wait for, is done after the time of a request.
[[nodiscard]] Nanoseconds longest_silence(const ClientGate& gate, bool waits) {
  const Nanoseconds tail = value_of(gate.tail_ns);
  return waits || tail == 0 ? kSloLease : std::clamp(tail, kUnfinishedQuietTime, kSloLease);
}

// `works_for`: how long after its last sign a client still works.
template <typename WorksFor>
[[nodiscard]] bool other_slo_client(const SharedState& state,
                                    std::uint32_t slot,
                                    Nanoseconds since,
                                    const WorksFor& works_for) {
  bool found = false;
  for_each_slo_client(state, [&](std::uint32_t number) {
    const ClientGate& gate = state.clients[number].gate;
    const Nanoseconds sign = value_of(gate.lease_ns) + works_for(gate);
    found = found || (number != slot && sign >= since);
  });
  return found;
}

}  // namespace

bool slo_client_signed(const SharedState& state, std::uint32_t slot, Nanoseconds since) {
  return other_slo_client(
      state, slot, since, [](const ClientGate& /*gate*/) { return Nanoseconds{0}; });
}

bool slo_client_worked(const SharedState& state, std::uint32_t slot, Nanoseconds since) {
  return other_slo_client(state, slot, since, [](const ClientGate& gate) {
    const std::uint64_t busy = gate.busy.load(std::memory_order_relaxed);
    return waits_for_gpu(busy) ? kLongestBusy : busy != 0 ? kSloLease : 0;
  });
}

SloSign sign_of(const ClientGate& gate, Nanoseconds now, Nanoseconds seen_alive) {
  const std::uint64_t busy = gate.busy.load(std::memory_order_relaxed);
  const bool waits = waits_for_gpu(busy);
  const RequestPhase active = is_launching(gate) ? RequestPhase::Launching : RequestPhase::Busy;
  const Nanoseconds sign = std::max(value_of(gate.lease_ns), waits ? seen_alive : 0);
  if (value_of(gate.request_began_ns) == 0 || now - sign >= kSloLease) {
    return {.phase = RequestPhase::Idle, .idle_at = now};
  }
  if (busy != 0) {
    const Nanoseconds idle_at = sign + longest_silence(gate, waits);
    return now >= idle_at ? SloSign{.phase = RequestPhase::Idle, .idle_at = now}
                          : SloSign{.phase = active, .idle_at = idle_at};
  }
  const bool waited = gate.commands_in_flight.load(std::memory_order_relaxed) == 0;
  const Nanoseconds learned = waited ? value_of(gate.quiet_ns) : 0;
  const Nanoseconds quiet = learned > 0 ? std::min(learned, kQuietTime) : quiet_time_of(gate);
  if (now - sign >= quiet) {
    return {.phase = RequestPhase::Idle, .idle_at = now};
  }
  return {.phase = waited ? RequestPhase::Quiet : active, .idle_at = sign + quiet};
}

}  // namespace carpool::interpose::gate
