// Clients that launch kernels through the gate onto a simulated GPU, under a virtual clock. What
// the gate believes of a kernel and what is true of it are two numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interpose/gate/event.hpp"
#include "interpose/gate/gate.hpp"
#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

struct SimulatedKernel {
  std::string name;
  Work work{};  // what the gate is told; durations of unknown kernels are the gate's own guess
  Nanoseconds true_ns = 0;
};

struct SimulatedClient {
  std::string name;
  ClientTerms terms{};
  std::vector<SimulatedKernel> kernels{};  // of a request; of an iteration, which is repeated
  std::vector<Nanoseconds> arrivals{};     // of requests; best-effort clients have none
  Nanoseconds host_ns = 5 * kMicrosecond;  // between launches
  bool declares = false;                   // requests or iterations
  Nanoseconds dies_at = kNever;
  bool death_is_seen = true;      // else the gate is not told, as of a stopped process
  Nanoseconds stops_at = kNever;  // it does nothing more, and its work goes on
};

struct Scenario {
  std::string policy = "spacetime";
  DeviceFacts device{};
  std::vector<SimulatedClient> clients{};
  Nanoseconds end = 10 * kMillisecond;
  Nanoseconds trace_from = 0;
};

struct Admission {
  std::uint32_t client = 0;
  Nanoseconds now = 0;
  Work work{};
  Decision decision{};
  GateView view{};  // before it
};

// What an SLO client found when its request arrived.
struct ArrivalSeen {
  Nanoseconds now = 0;
  Nanoseconds best_effort_left = 0;
};

struct ClientOutcome {
  std::uint64_t launches = 0;
  Nanoseconds done_ns = 0;       // true durations of finished kernels
  Nanoseconds longest_hold = 0;  // of one launch
  Nanoseconds last_admitted = 0;
  std::vector<Nanoseconds> latencies;
};

struct Outcome {
  std::string trace;
  std::vector<Admission> admissions;  // of best-effort clients
  std::vector<ArrivalSeen> arrivals;
  std::vector<ClientOutcome> clients;
  std::vector<std::uint64_t> holds;  // by reason, of all clients
  Nanoseconds longest_overrun = 0;   // SimulatedDevice::longest_overrun()
};

[[nodiscard]] Outcome simulate(const Scenario& scenario);

}  // namespace carpool::interpose::gate
