// What happens to the clients of a GPU, as far as the gate is concerned.
#pragma once

#include <cstdint>

#include "interpose/gate/decision.hpp"
#include "interpose/gate/work.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose::gate {

enum class EventKind : std::uint8_t {
  Joined,
  Left,
  Died,
  Submitted,     // admitted work was launched
  Finished,      // it is done
  RequestBegan,  // declared; of a best-effort client: an iteration
  RequestEnded,
  Alive,  // a sign of life without a launch
  Clock,  // time has passed
};

struct ClientTerms {
  JobClass job_class = JobClass::BestEffort;
  Nanoseconds slo_ns = 0;
  std::uint32_t quantile_permille = 990;
  std::uint32_t weight = 1;             // of best-effort clients among each other
  bool reports_finished = true;         // Finished comes for each launch
  std::uint32_t limit_permille = 1000;  // of the GPU, for policies that limit the use of a client
};

struct Event {
  EventKind kind = EventKind::Clock;
  std::uint32_t client = 0;
  Nanoseconds now = 0;
  Work work{};                  // Submitted, Finished
  Decision decision{};          // of that work
  Nanoseconds measured_ns = 0;  // Finished; 0: not measured
  Nanoseconds arrival = 0;      // RequestBegan; 0: now
  ClientTerms terms{};          // Joined
};

}  // namespace carpool::interpose::gate
