// The turns of one best-effort process in the lane (lane.hpp): an iteration that its program marks,
// or else 100 ms. The lane stays taken until the work of the turn is done.
#pragma once

#include "interpose/gate/lane.hpp"
#include "interpose/gate/policy.hpp"

namespace carpool::interpose::gate {

class LaneTurns {
 public:
  void start(std::uint32_t slot) { slot_ = slot; }

  // As the policy sees it: client 0 is this process, 1 another one. While the work of a turn that
  // has ended is not done, the lane is not that of this process either.
  [[nodiscard]] LaneMemory sight(const SharedState& state, Nanoseconds now) const;

  // The process asks: it is alive, and keeps the lane until its work is done.
  void keep(SharedState& state, Nanoseconds done_at, Nanoseconds now) const;

  // A launch that the policy admits takes the lane or keeps it. `done_at`: when the work of this
  // process is done with it, by means. False: another process was faster.
  [[nodiscard]] bool enter(SharedState& state, Nanoseconds done_at, Nanoseconds now);

  // Marks of the program.
  void iteration_begins(Nanoseconds now);
  void iteration_ends(SharedState& state, Nanoseconds done_at, Nanoseconds now);

 private:
  [[nodiscard]] bool owns(const SharedState& state, Nanoseconds now) const;

  std::uint32_t slot_ = 0;
  bool marked_ = false;
  Nanoseconds turn_ends_ = 0;
};

}  // namespace carpool::interpose::gate
