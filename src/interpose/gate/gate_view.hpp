// What a policy sees when it decides on one launch. Plain values: a decision depends on nothing
// else but the policy's own memory, the launch and the time.
#pragma once

#include <cstdint>

#include "interpose/gate/request_detector.hpp"
#include "interpose/gate/work.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose::gate {

struct DeviceFacts {
  std::uint32_t sms = 132;
  bool mps = false;        // kernels of several processes run at the same time
  bool sm_limits = false;  // a launch can be confined to a part of the SMs
};

// How much best-effort work may be in flight while an SLO client is present.
struct Budget {
  Nanoseconds idle_ns = kMillisecond;  // no request active
  Nanoseconds active_ns = 0;           // light kernels beside a request
  // So that the GPU does not wait for the host: short kernels may follow while what is in flight
  // takes no longer than `backlog_ns` with them, and one of any length when it ends within
  // `lead_ns`.
  Nanoseconds backlog_ns = 0;
  Nanoseconds lead_ns = 0;
  std::uint32_t active_sms = 0;     // for heavy kernels beside a request
  Nanoseconds time_only_until = 0;  // no sharing in space before
};

// What the SLO clients of a GPU allow together.
struct SloTerms {
  Nanoseconds tightest_slo = kNever;
  std::uint32_t room_permille = 1000;  // the smallest
  Nanoseconds time_only_until = 0;     // the latest
};
// `long_kernel`: DurationBelief::of_long().
[[nodiscard]] Budget budget_of(const SloTerms& terms, Nanoseconds long_kernel, std::uint32_t sms);

// The client that asks.
struct CallerView {
  std::uint32_t client = 0;
  JobClass job_class = JobClass::BestEffort;
  Nanoseconds held_for = 0;    // since this launch was first asked for
  Nanoseconds turn_lag = 0;    // best-effort time had beyond the waiting client that had least
  Nanoseconds slack = kNever;  // of its own request
  Nanoseconds slo_ns = 0;
  std::uint32_t commands_in_flight = 0;
};

// Best-effort work that was admitted and is not known to be done.
struct BestEffortView {
  Nanoseconds in_flight_ns = 0;      // on all SMs, by bounds
  Nanoseconds confined_ns = 0;       // on a part of the SMs
  Nanoseconds since_drained_ns = 0;  // admitted since none was in flight, by means
  // When it is done, by bounds; kNever: not known, as of a kernel that ran beside a request.
  Nanoseconds ends_in = kNever;           // on all SMs
  Nanoseconds confined_ends_in = kNever;  // on a part of the SMs
  std::uint32_t commands = 0;
  std::uint32_t sms = 0;  // that it occupies, the GPU's at most
};

struct SloView {
  bool present = false;
  RequestPhase phase = RequestPhase::Idle;  // of the busiest client
  Nanoseconds idle_at = 0;                  // when all are idle if nothing happens before
  Nanoseconds remaining = 0;         // of the active request that takes longest, on an idle GPU
  Nanoseconds least_slack = kNever;  // of the active requests of clients other than the caller
  Nanoseconds slo_of_least = 0;
  Nanoseconds tightest_slo = 0;                 // of all clients
  Nanoseconds next_arrival = kNever;            // the earliest that is expected
  std::uint32_t commands = 0;                   // in flight
  std::uint32_t sms = 0;                        // that they occupy
  Bottleneck bottleneck = Bottleneck::Unknown;  // of the last of them
};

struct GateView {
  DeviceFacts device;
  Budget budget;
  CallerView caller;
  BestEffortView best_effort;
  SloView slo;
};

}  // namespace carpool::interpose::gate
