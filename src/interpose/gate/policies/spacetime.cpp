// The policies of Carpool itself: spacetime and time; and MPS priorities.
#include <algorithm>

#include "interpose/gate/policies/policies.hpp"

namespace carpool::interpose::gate {
namespace {

// Shares of the SLO.
constexpr Nanoseconds kShortSlackPermille = 300;   // below: no sharing in space
constexpr Nanoseconds kUrgentSlackPermille = 100;  // below: other SLO clients make way
constexpr Nanoseconds kAmpleSlackPermille = 500;   // above: an SLO client can make way
// A heavy kernel that cannot be confined, but is this short, runs beside a request on all SMs: to
// hold it would hold all that follows it for the rest of the request.
constexpr Nanoseconds kShortHeavy = 100 * kMicrosecond;
constexpr Nanoseconds kShortHeavyPartOfSlo = 200;
// A light kernel on this part of the SMs leaves enough of them; one of this length is gone before
// the way to a part of them has paid.
constexpr std::uint32_t kSmallPartOfSms = 4;
constexpr Nanoseconds kTiny = 10 * kMicrosecond;
// Green contexts of compute capability 9.0 have at least 8 SMs.
constexpr std::uint32_t kLeastSms = 8;

[[nodiscard]] bool slack_below(Nanoseconds slack, Nanoseconds slo_ns, Nanoseconds permille) {
  return slack < slo_ns / 1000 * permille;
}

// Among SLO clients: one with ample slack makes way for one that is about to miss its deadline.
[[nodiscard]] Decision decide_slo(const GateView& view, Nanoseconds now) {
  const CallerView& caller = view.caller;
  const bool other_urgent =
      view.slo.least_slack != kNever &&
      slack_below(view.slo.least_slack, view.slo.slo_of_least, kUrgentSlackPermille);
  const Nanoseconds ample = caller.slo_ns / 1000 * kAmpleSlackPermille;
  if (!other_urgent || caller.slack == kNever || caller.slack <= ample) {
    return admit();
  }
  return hold(HoldReason::TighterRequest, now, now + (caller.slack - ample));
}

[[nodiscard]] Decision hold_while_active(const GateView& view, HoldReason reason, Nanoseconds now) {
  return hold(reason, now, view.slo.idle_at);
}

// By bounds.
[[nodiscard]] Nanoseconds all_done_in(const BestEffortView& work) {
  return std::max(work.in_flight_ns > 0 ? work.ends_in : 0,
                  work.confined_ns > 0 ? work.confined_ends_in : 0);
}

[[nodiscard]] std::uint32_t sms_of_part(const GateView& view) {
  return view.budget.active_sms / kLeastSms * kLeastSms;
}

[[nodiscard]] bool short_and_unconfinable(const GateView& view, const Work& work) {
  const Nanoseconds most = std::min(kShortHeavy, view.slo.tightest_slo / kShortHeavyPartOfSlo);
  return view.device.sm_limits && work.known && work.kind == WorkKind::Kernel &&
         work.least_sms > sms_of_part(view) && work.bound_ns <= most;
}

// A kernel on a part of the SMs stays there when the request ends. If that takes longer than to
// wait for the end, and then for the kernel on all SMs, nothing is gained.
[[nodiscard]] bool ends_sooner_after_request(const GateView& view,
                                             const Work& work,
                                             std::uint32_t sms) {
  const bool beside = view.slo.phase != RequestPhase::Idle;
  return beside && !is_light(work, view.device.sms) &&
         work.expected_ns * view.device.sms / sms > view.slo.remaining + work.expected_ns;
}

// A graph or a cooperative launch cannot be confined.
[[nodiscard]] bool can_be_confined(const GateView& view, const Work& work, Nanoseconds now) {
  const std::uint32_t sms = sms_of_part(view);
  return view.device.mps && view.device.sm_limits && sms > 0 && work.known &&
         work.kind == WorkKind::Kernel && work.least_sms <= sms &&
         now >= view.budget.time_only_until;
}

// Runs on a part of the SMs, one kernel at a time, if launches can be confined; else it is held.
[[nodiscard]] Decision decide_heavy(const GateView& view,
                                    const Work& work,
                                    HoldReason otherwise,
                                    Nanoseconds now) {
  const std::uint32_t sms = sms_of_part(view);
  if (!can_be_confined(view, work, now) || ends_sooner_after_request(view, work, sms)) {
    return hold_while_active(view, otherwise, now);
  }
  if (view.best_effort.confined_ns > 0 && view.best_effort.confined_ends_in > view.budget.lead_ns) {
    return hold(HoldReason::InFlightBound, now);
  }
  Decision confined = admit();
  confined.sms = sms;
  confined.low_priority = true;
  return confined;
}

// No request is active.
[[nodiscard]] Decision decide_between_requests(const GateView& view,
                                               const Work& work,
                                               Nanoseconds now) {
  const Nanoseconds until_arrival =
      view.slo.next_arrival == kNever ? kNever : view.slo.next_arrival - now;
  const Nanoseconds in_flight = view.best_effort.in_flight_ns;
  const bool ends_before = view.slo.next_arrival != kNever && until_arrival > work.bound_ns;
  if (work.known && work.expected_ns > view.slo.tightest_slo / kLongPartOfSlo && !ends_before) {
    return decide_heavy(view, work, HoldReason::LongForSlo, now);
  }
  if (until_arrival >= 0 && until_arrival <= view.budget.idle_ns &&
      in_flight + work.bound_ns > std::max(until_arrival, view.budget.active_ns)) {
    return hold(HoldReason::ArrivalExpected, now, view.slo.next_arrival + kMicrosecond);
  }
  const Nanoseconds may_be_left =
      std::max(view.budget.lead_ns, view.budget.backlog_ns - work.bound_ns);
  return fits(in_flight, work.bound_ns, view.budget.idle_ns) ||
                 all_done_in(view.best_effort) <= may_be_left
             ? admit()
             : hold(HoldReason::InFlightBound, now);
}

[[nodiscard]] Decision decide_beside_request(const GateView& view,
                                             const Work& work,
                                             Nanoseconds now) {
  if (!view.device.mps) {
    return hold_while_active(
        view,
        view.slo.phase == RequestPhase::Quiet ? HoldReason::QuietTime : HoldReason::RequestActive,
        now);
  }
  if (now < view.budget.time_only_until) {
    return hold_while_active(view, HoldReason::TailOverSlo, now);
  }
  if (slack_below(view.slo.least_slack, view.slo.slo_of_least, kShortSlackPermille)) {
    return hold_while_active(view, HoldReason::SlackShort, now);
  }
  // Even a short kernel is in the way while it occupies all SMs.
  const bool light = is_light(work, view.device.sms);
  const bool small = light && (work.sms <= view.device.sms / kSmallPartOfSms ||
                               (work.known && work.bound_ns <= kTiny));
  if (!small &&
      (can_be_confined(view, work, now) || (!light && !short_and_unconfinable(view, work)))) {
    return decide_heavy(view, work, HoldReason::HeavyBesideRequest, now);
  }
  if (view.best_effort.in_flight_ns + work.bound_ns > view.budget.active_ns) {
    return hold(HoldReason::InFlightBound, now, view.slo.idle_at);
  }
  Decision beside = admit();
  beside.low_priority = true;
  return beside;
}

// Between its launches the program of the request leaves time to others, unless the request is
// about to be late, and not because all of them are.
[[nodiscard]] bool leaves_time(const GateView& view) {
  const bool slower_than_usual = view.slo.remaining == 0;
  return view.slo.phase == RequestPhase::Launching && !view.device.mps &&
         !(slower_than_usual &&
           slack_below(view.slo.least_slack, view.slo.slo_of_least, kShortSlackPermille));
}

[[nodiscard]] Decision decide_best_effort(const GateView& view, const Work& work, Nanoseconds now) {
  if (view.caller.turn_lag > view.budget.idle_ns) {
    return hold(HoldReason::OtherClientsTurn, now);
  }
  const bool may_run = view.slo.phase == RequestPhase::Idle || leaves_time(view);
  Decision answer =
      may_run ? decide_between_requests(view, work, now) : decide_beside_request(view, work, now);
  if (answer.admitted) {
    return answer;
  }
  // The minimum share. In flight stays within the bound: nothing else is.
  const Nanoseconds left = longest_hold(work) - view.caller.held_for;
  if (left <= 0 && view.best_effort.in_flight_ns == 0 && view.best_effort.confined_ns == 0) {
    Decision share = admit();
    share.by_minimum_share = true;
    share.low_priority = true;
    return share;
  }
  if (left > 0) {
    answer.until = std::max(now + kMicrosecond, std::min(answer.until, now + left));
  }
  return answer;
}

}  // namespace

Decision decide_spacetime(const GateView& view,
                          const PolicyMemory& /*memory*/,
                          const Work& work,
                          Nanoseconds now) {
  if (view.caller.job_class == JobClass::Slo) {
    return decide_slo(view, now);
  }
  return view.slo.present ? decide_best_effort(view, work, now) : admit();
}

Decision decide_time(const GateView& view,
                     const PolicyMemory& memory,
                     const Work& work,
                     Nanoseconds now) {
  GateView in_time = view;
  in_time.device.mps = false;
  return decide_spacetime(in_time, memory, work, now);
}

Decision decide_priority(const GateView& view,
                         const PolicyMemory& /*memory*/,
                         const Work& /*work*/,
                         Nanoseconds /*now*/) {
  Decision answer = admit();
  answer.low_priority = view.caller.job_class == JobClass::BestEffort;
  return answer;
}

}  // namespace carpool::interpose::gate
