// What the gate shows to its policy.
#include <algorithm>

#include "interpose/gate/gate.hpp"

namespace carpool::interpose::gate {
namespace {

// Bounds of the work in flight between requests: 2 % of the SLO, or one long kernel if that is at
// most a tenth of the SLO.
constexpr Nanoseconds kPartOfSlo = 50;
constexpr Nanoseconds kLongKernelPartOfSlo = 10;
constexpr Nanoseconds kLeastIdle = 100 * kMicrosecond;
constexpr Nanoseconds kMostIdle = kMillisecond;
// With all of the room that the outer loop can give.
constexpr Nanoseconds kMostActive = 200 * kMicrosecond;
constexpr Nanoseconds kMostLead = 100 * kMicrosecond;
constexpr Nanoseconds kLeadPartOfSlo = 100;

[[nodiscard]] bool shares_best_effort(const GateClient& client) {
  return client.present && client.terms.job_class == JobClass::BestEffort;
}

}  // namespace

Budget budget_of(const SloTerms& terms, Nanoseconds long_kernel, std::uint32_t sms) {
  const Nanoseconds usual = std::clamp(terms.tightest_slo / kPartOfSlo, kLeastIdle, kMostIdle);
  const Nanoseconds one_long = std::min(long_kernel, terms.tightest_slo / kLongKernelPartOfSlo);
  const Nanoseconds full = std::max(usual, one_long);
  const std::uint32_t room = terms.room_permille;
  const Nanoseconds idle = std::max(kLeastIdle, full / 2000 * (1000 + Nanoseconds{room}));
  return {.idle_ns = idle,
          .active_ns = std::min(idle, kMostActive / 1000 * Nanoseconds{room}),
          .backlog_ns = std::min(usual, idle),
          .lead_ns = std::min(kMostLead, terms.tightest_slo / kLeadPartOfSlo),
          .active_sms = sms * room / 2000,
          .time_only_until = terms.time_only_until};
}

Budget Gate::budget() const {
  SloTerms terms;
  for (const GateClient& client : used()) {
    if (client.present && client.terms.job_class == JobClass::Slo) {
      terms.tightest_slo = std::min(terms.tightest_slo, client.terms.slo_ns);
      terms.room_permille = std::min(terms.room_permille, client.tail.room_permille());
      terms.time_only_until = std::max(terms.time_only_until, client.tail.time_only_until());
    }
  }
  return budget_of(terms, belief_.of_long(), device_.sms);
}

void Gate::add_best_effort(GateView& view, const GateClient& client, Nanoseconds now) const {
  if (client.commands == 0 || now >= client.due + kInFlightLease) {
    return;
  }
  view.best_effort.in_flight_ns += client.in_flight_ns;
  view.best_effort.confined_ns += client.confined_ns;
  view.best_effort.commands += client.commands;
  const Nanoseconds ends_in =
      view.best_effort.commands == 1 ? std::max<Nanoseconds>(0, client.due - now) : kNever;
  const bool slowed = client.last_launch < slo_worked_;
  view.best_effort.ends_in = slowed ? kNever : ends_in;
  view.best_effort.confined_ends_in = ends_in;
  view.best_effort.sms = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(device_.sms, view.best_effort.sms + client.sms));
}

void Gate::add_slo(GateView& view, const GateClient& client, bool caller, Nanoseconds now) const {
  SloView& slo = view.slo;
  slo.tightest_slo =
      slo.present ? std::min(slo.tightest_slo, client.terms.slo_ns) : client.terms.slo_ns;
  slo.present = true;
  const RequestPhase phase = client.detector.phase(now);
  slo.phase = std::max(slo.phase, phase);
  slo.idle_at = std::max(slo.idle_at, client.detector.idle_at(now));
  if (phase == RequestPhase::Idle) {
    const Nanoseconds next = client.book.next_arrival();
    slo.next_arrival = next >= now ? std::min(slo.next_arrival, next) : slo.next_arrival;
    return;
  }
  slo.commands += client.commands;
  slo.sms = static_cast<std::uint32_t>(std::min<std::uint64_t>(device_.sms, slo.sms + client.sms));
  slo.bottleneck = client.commands > 0 ? client.bottleneck : slo.bottleneck;
  slo.remaining = std::max(slo.remaining, client.book.remaining());
  const Nanoseconds slack = client.book.slack(now);
  if (!caller && client.book.active() && slack < slo.least_slack) {
    slo.least_slack = slack;
    slo.slo_of_least = client.terms.slo_ns;
  }
}

Nanoseconds Gate::turn_lag(const GateClient& caller, Nanoseconds now) const {
  Nanoseconds least = caller.start_tag;
  for (const GateClient& other : used()) {
    if (shares_best_effort(other) && other.waiting && now - other.last_asked < kWaiterLease) {
      least = std::min(least, other.start_tag);
    }
  }
  return caller.start_tag - least;
}

GateView Gate::view(const Work& work, Nanoseconds now) const {
  const GateClient& caller = clients_[work.client];
  GateView view;
  view.device = device_;
  view.budget = budget();
  view.slo.idle_at = now;
  for (const GateClient& client : used()) {
    if (shares_best_effort(client)) {
      add_best_effort(view, client, now);
    } else if (client.present) {
      add_slo(view, client, &client == &caller, now);
    }
  }
  view.best_effort.since_drained_ns = view.best_effort.commands > 0 ? since_drained_ns_ : 0;
  view.caller = {.client = work.client,
                 .job_class = caller.terms.job_class,
                 .held_for = caller.waiting ? now - caller.asked_since : 0,
                 .turn_lag = shares_best_effort(caller) ? turn_lag(caller, now) : 0,
                 .slack = caller.book.active() ? caller.book.slack(now) : kNever,
                 .slo_ns = caller.terms.slo_ns,
                 .commands_in_flight = caller.commands};
  return view;
}

}  // namespace carpool::interpose::gate
