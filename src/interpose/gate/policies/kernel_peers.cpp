// Policies of other systems that decide on single kernels: Orion, REEF-N, XSched level 1, AntMan.
// docs/gate-internals.md names what each was taken from.
#include <algorithm>

#include "interpose/gate/policies/policies.hpp"

namespace carpool::interpose::gate {
namespace {

// Orion's shipped threshold for ResNet-50: the sum of best-effort durations after which it waits.
constexpr Nanoseconds kOrionDurations = 160 * kMicrosecond;
constexpr std::uint32_t kReefCommands = 2;
constexpr std::uint32_t kXschedCommands = 16;

[[nodiscard]] bool is_slo(const GateView& view) {
  return view.caller.job_class == JobClass::Slo;
}

// A queue of limited length, which is stopped while the SLO clients have work on the GPU.
[[nodiscard]] Decision decide_queue(const GateView& view, std::uint32_t commands, Nanoseconds now) {
  if (is_slo(view) || !view.slo.present) {
    return admit();
  }
  if (view.slo.commands > 0) {
    return hold(HoldReason::RequestActive, now);
  }
  return view.caller.commands_in_flight < commands ? admit()
                                                   : hold(HoldReason::CommandsInFlight, now);
}

}  // namespace

Decision decide_orion(const GateView& view,
                      const PolicyMemory& /*memory*/,
                      const Work& work,
                      Nanoseconds now) {
  if (is_slo(view) || !view.slo.present || work.kind == WorkKind::Copy) {
    return admit();
  }
  if (view.slo.commands > 0) {
    if (view.best_effort.sms + work.sms > view.device.sms) {
      return hold(HoldReason::NoFreeSms, now);
    }
    if (work.bottleneck != Bottleneck::Unknown && work.bottleneck == view.slo.bottleneck) {
      return hold(HoldReason::SameBottleneck, now);
    }
  }
  const bool over = view.best_effort.since_drained_ns > kOrionDurations;
  return over && view.best_effort.commands > 0 ? hold(HoldReason::InFlightBound, now) : admit();
}

Decision decide_reef_n(const GateView& view,
                       const PolicyMemory& /*memory*/,
                       const Work& /*work*/,
                       Nanoseconds now) {
  return decide_queue(view, kReefCommands, now);
}

Decision decide_xsched_lv1(const GateView& view,
                           const PolicyMemory& /*memory*/,
                           const Work& /*work*/,
                           Nanoseconds now) {
  return decide_queue(view, kXschedCommands, now);
}

Decision decide_antman(const GateView& view,
                       const PolicyMemory& /*memory*/,
                       const Work& work,
                       Nanoseconds now) {
  if (is_slo(view) || !view.slo.present) {
    return admit();
  }
  if (view.slo.phase != RequestPhase::Idle) {
    return hold(HoldReason::RequestActive, now, view.slo.idle_at);
  }
  const Nanoseconds in_flight = view.best_effort.in_flight_ns;
  // The length of the slot is not known, or it was estimated too short: one kernel at a time.
  if (view.slo.next_arrival == kNever || view.slo.next_arrival < now) {
    return in_flight == 0 ? admit() : hold(HoldReason::InFlightBound, now);
  }
  return now + in_flight + work.expected_ns <= view.slo.next_arrival
             ? admit()
             : hold(HoldReason::IdleSlotTooShort, now, view.slo.next_arrival + kMicrosecond);
}

}  // namespace carpool::interpose::gate
