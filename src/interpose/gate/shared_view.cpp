#include "interpose/gate/shared_view.hpp"

#include <algorithm>

#include "interpose/gate/decision.hpp"
#include "interpose/gate/shared_words.hpp"

namespace carpool::interpose::gate {
namespace {

// Permille of the SLO: a tail below the first leaves room, until it is above the second.
constexpr Nanoseconds kRoomBelow = 300;
constexpr Nanoseconds kRoomUntil = 400;
constexpr std::uint64_t kTellingRequests = 50;  // for a tail

template <typename Visit>
void for_each_best_effort(const SharedState& state, const Visit& visit) {
  const std::uint64_t low = state.gpu.live_slots_low.load(std::memory_order_relaxed);
  const std::uint64_t high = state.gpu.live_slots_high.load(std::memory_order_relaxed);
  for_each_bit(low, high, [&](std::uint32_t number) {
    const ClientSlot& slot = state.clients[number];
    if (slot.joined.load(std::memory_order_relaxed) == 1 &&
        slot.job_class.load(std::memory_order_relaxed) ==
            static_cast<std::uint64_t>(JobClass::BestEffort) &&
        slot.gate.policy.load(std::memory_order_relaxed) != 0) {
      visit(number, slot.gate);
    }
  });
}

[[nodiscard]] Nanoseconds elapsed_of(const ClientGate& gate, Nanoseconds now) {
  return std::max<Nanoseconds>(0, now - value_of(gate.request_began_ns));
}

// The rest of the request if it takes as long as half of the requests do.
[[nodiscard]] Nanoseconds remaining_of(const ClientGate& gate, Nanoseconds now) {
  return std::max<Nanoseconds>(0, value_of(gate.p50_ns) - elapsed_of(gate, now));
}

// What is left of the deadline after it.
[[nodiscard]] Nanoseconds slack_of(const ClientGate& gate, Nanoseconds now) {
  return value_of(gate.slo_ns) - elapsed_of(gate, now) - remaining_of(gate, now);
}

void add_slo_client(SloView& view,
                    SloTerms& terms,
                    const ClientGate& gate,
                    Nanoseconds now,
                    Nanoseconds seen_alive) {
  constexpr std::uint64_t kMillionthsOfPermille = 1000;
  const Nanoseconds slo = value_of(gate.slo_ns);
  view.present = true;
  terms.tightest_slo = std::min(terms.tightest_slo, slo);
  const auto room = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      1000, gate.room_millionths.load(std::memory_order_relaxed) / kMillionthsOfPermille));
  terms.room_permille = std::min(terms.room_permille, room);
  terms.time_only_until = std::max(terms.time_only_until, value_of(gate.time_only_until_ns));
  const SloSign sign = sign_of(gate, now, seen_alive);
  view.phase = std::max(view.phase, sign.phase);
  view.idle_at = std::max(view.idle_at, sign.idle_at);
  if (sign.phase == RequestPhase::Idle) {
    const Nanoseconds next = value_of(gate.next_arrival_ns);
    view.next_arrival = next >= now ? std::min(view.next_arrival, next) : view.next_arrival;
    return;
  }
  const std::uint64_t commands = gate.commands_in_flight.load(std::memory_order_relaxed);
  view.commands += static_cast<std::uint32_t>(std::clamp<std::uint64_t>(commands, 1, 1U << 20U));
  view.remaining = std::max(view.remaining, remaining_of(gate, now));
  const Nanoseconds slack = slack_of(gate, now);
  if (slack < view.least_slack) {
    view.least_slack = slack;
    view.slo_of_least = slo;
  }
}

}  // namespace

bool is_slo_client(const ClientSlot& slot) {
  return slot.joined.load(std::memory_order_relaxed) == 1 &&
         slot.job_class.load(std::memory_order_relaxed) ==
             static_cast<std::uint64_t>(JobClass::Slo) &&
         slot.gate.slo_ns.load(std::memory_order_relaxed) != 0;
}

bool slos_leave_room(const SharedState& state, bool before) {
  bool room = true;
  for_each_slo_client(state, [&](std::uint32_t number) {
    const ClientGate& gate = state.clients[number].gate;
    const Nanoseconds most = value_of(gate.slo_ns) / 1000 * (before ? kRoomUntil : kRoomBelow);
    room = room && gate.requests.load(std::memory_order_relaxed) >= kTellingRequests &&
           value_of(gate.tail_ns) < most;
  });
  return room;
}

bool slos_in_mps(const SharedState& state) {
  bool all = true;
  for_each_slo_client(state, [&](std::uint32_t number) {
    all = all && state.clients[number].gate.in_mps.load(std::memory_order_relaxed) != 0;
  });
  return all;
}

GateView shared_view(const SharedState& state,
                     const DeviceFacts& device,
                     const SharedCaller& caller,
                     Nanoseconds now) {
  GateView view;
  view.device = device;
  view.device.mps = device.mps && slos_in_mps(state);
  view.slo.idle_at = now;
  SloTerms terms;
  // Beside a request a kernel takes longer than its bound. The end of a request is a sign of its
  // client; one that was killed while it waited for the GPU gives none, and counts no longer.
  bool slowed = false;
  for_each_slo_client(state, [&](std::uint32_t number) {
    if (is_slo_client(state.clients[number])) {
      const Nanoseconds seen = number < caller.alive.size() ? caller.alive.data()[number] : 0;
      add_slo_client(view.slo, terms, state.clients[number].gate, now, seen);
      slowed = slowed || value_of(state.clients[number].gate.lease_ns) >= caller.began;
    }
  });
  if (!view.slo.present) {
    terms.tightest_slo = 0;
  }
  view.slo.tightest_slo = terms.tightest_slo;
  view.budget = budget_of(terms, caller.long_kernel, device.sms);
  view.best_effort.in_flight_ns = caller.in_flight_ns;
  view.best_effort.confined_ns = caller.confined_ns;
  view.best_effort.commands = caller.commands;
  view.best_effort.sms =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(device.sms, caller.sms));
  view.best_effort.since_drained_ns = caller.since_drained_ns;
  view.best_effort.ends_in = slowed ? kNever : caller.ends_in;
  view.best_effort.confined_ends_in = caller.confined_ends_in;
  Nanoseconds least_tag = caller.start_tag;
  for_each_best_effort(state, [&](std::uint32_t number, const ClientGate& gate) {
    if (number == caller.slot) {
      return;
    }
    if (now < value_of(gate.due_ns) + kOverdue) {
      const Nanoseconds in_flight = value_of(gate.in_flight_ns);
      view.best_effort.in_flight_ns += in_flight;
      view.best_effort.ends_in = in_flight > 0 ? kNever : view.best_effort.ends_in;
      view.best_effort.commands +=
          static_cast<std::uint32_t>(gate.commands_in_flight.load(std::memory_order_relaxed));
    }
    const Nanoseconds asked = value_of(gate.last_asked_ns);
    if (asked != 0 && now - asked < kWaiterLease) {
      least_tag = std::min(least_tag, value_of(gate.start_tag));
    }
  });
  view.caller = {.client = caller.slot,
                 .job_class = JobClass::BestEffort,
                 .held_for = caller.held_for,
                 .turn_lag = caller.start_tag - least_tag,
                 .commands_in_flight = caller.commands};
  return view;
}

GateView shared_slo_view(const SharedState& state, std::uint32_t slot, Nanoseconds now) {
  GateView view;
  SloTerms terms;
  const std::uint64_t job = state.clients[slot].job.load(std::memory_order_relaxed);
  for_each_slo_client(state, [&](std::uint32_t number) {
    const ClientSlot& other = state.clients[number];
    const bool same_job = job != 0 && other.job.load(std::memory_order_relaxed) == job;
    if (number != slot && !same_job && is_slo_client(other)) {
      add_slo_client(view.slo, terms, other.gate, now, 0);
    }
  });
  const ClientGate& own = state.clients[slot].gate;
  view.caller = {.client = slot, .job_class = JobClass::Slo, .slo_ns = value_of(own.slo_ns)};
  if (value_of(own.request_began_ns) != 0) {
    view.caller.slack = slack_of(own, now);
  }
  return view;
}

Nanoseconds shared_virtual_time(const SharedState& state) {
  Nanoseconds latest = 0;
  for_each_best_effort(state, [&latest](std::uint32_t /*number*/, const ClientGate& gate) {
    if (value_of(gate.last_asked_ns) == 0) {
      latest = std::max(latest, value_of(gate.start_tag));
    }
  });
  return latest;
}

}  // namespace carpool::interpose::gate
