// The state machine of the gate of one GPU: events come in, answers to launches go out. It has no
// thread, no clock and no call of the driver; its caller reports what happened and the time, in the
// order of time. No heap; about 150 KiB.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "interpose/gate/decision.hpp"
#include "interpose/gate/duration_belief.hpp"
#include "interpose/gate/event.hpp"
#include "interpose/gate/gate_view.hpp"
#include "interpose/gate/policy.hpp"
#include "interpose/gate/request_detector.hpp"
#include "interpose/gate/slack.hpp"
#include "interpose/gate/tail_control.hpp"
#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

// In-flight work of a client that is overdue by this does not count: the client was stopped or
// killed before it could report.
inline constexpr Nanoseconds kInFlightLease = 100 * kMillisecond;

struct GateClient {
  bool present = false;
  ClientTerms terms{};
  // Requests of an SLO client.
  RequestDetector detector{};
  RequestBook book{};
  TailControl tail{};
  // Work that was admitted and is not known to be done.
  Nanoseconds in_flight_ns = 0;  // on all SMs, by bounds
  Nanoseconds confined_ns = 0;   // on a part of them
  Nanoseconds due = 0;           // when it is done if no bound is exceeded
  Nanoseconds last_launch = 0;
  std::uint32_t commands = 0;
  std::uint64_t sms = 0;
  Bottleneck bottleneck = Bottleneck::Unknown;
  // Turns of best-effort clients: start-time fair queueing by predicted GPU time.
  Nanoseconds start_tag = 0;
  Nanoseconds finish_tag = 0;
  // A launch that was asked for and is held.
  bool waiting = false;
  Nanoseconds asked_since = 0;
  Nanoseconds last_asked = 0;
  HoldReason reason = HoldReason::None;
  std::array<std::uint64_t, kHoldReasons> holds{};
  std::array<Nanoseconds, kHoldReasons> held_ns{};
};

class Gate {
 public:
  Gate(const Policy& policy, const DeviceFacts& device) : policy_(policy), device_(device) {}

  void apply(const Event& event);

  // Whether a launch may go to the GPU now. For one that is admitted, Submitted is applied before
  // the next question. A client that the gate does not know is always admitted.
  [[nodiscard]] Decision ask(const Work& work, Nanoseconds now);

  [[nodiscard]] GateView view(const Work& work, Nanoseconds now) const;
  [[nodiscard]] Budget budget() const;
  [[nodiscard]] const DurationBelief& belief() const { return belief_; }
  // `client` is below kMostClients.
  [[nodiscard]] const GateClient& client(std::uint32_t client) const { return clients_[client]; }

 private:
  void settle(Nanoseconds now);
  void tell_policy(const Event& event);
  void submitted(GateClient& client, const Event& event);
  void finished(GateClient& client, const Event& event);
  void request_began(GateClient& client, const Event& event);
  void request_ended(GateClient& client, std::uint32_t number, Nanoseconds at, Nanoseconds now);
  void add_best_effort(GateView& view, const GateClient& client, Nanoseconds now) const;
  void add_slo(GateView& view, const GateClient& client, bool caller, Nanoseconds now) const;
  [[nodiscard]] std::span<const GateClient> used() const {
    return std::span(clients_).first(used_);
  }
  [[nodiscard]] Nanoseconds turn_lag(const GateClient& caller, Nanoseconds now) const;

  Policy policy_;
  DeviceFacts device_;
  PolicyMemory memory_{};
  DurationBelief belief_{};
  Nanoseconds virtual_time_ = 0;
  Nanoseconds since_drained_ns_ = 0;
  Nanoseconds slo_worked_ = -1;  // when an SLO client last launched, or had work that ended
  std::uint32_t used_ = 0;       // clients from here on are not present
  std::array<GateClient, kMostClients> clients_{};
};

}  // namespace carpool::interpose::gate
