#include "interpose/gate/lane_turns.hpp"

#include <algorithm>

#include "interpose/gate/shared_view.hpp"

namespace carpool::interpose::gate {

namespace {

// For a short time, again and again: so it is free soon if this process is killed.
[[nodiscard]] Nanoseconds taken_until(Nanoseconds turn_ends, Nanoseconds done_at, Nanoseconds now) {
  return std::min(std::max(turn_ends, done_at), now + kLaneTurn);
}

}  // namespace

bool LaneTurns::owns(const SharedState& state, Nanoseconds now) const {
  const Lane lane = lane_of(state, now);
  return lane.taken && lane.slot == slot_;
}

LaneMemory LaneTurns::sight(const SharedState& state, Nanoseconds now) const {
  const Lane lane = lane_of(state, now);
  const bool own = lane.taken && lane.slot == slot_ && now < turn_ends_;
  return {.taken = lane.taken, .owner = own ? 0U : 1U, .expires = lane.until};
}

void LaneTurns::keep(SharedState& state, Nanoseconds done_at, Nanoseconds now) const {
  const Nanoseconds until = taken_until(turn_ends_, done_at, now);
  if (owns(state, now) && until > now) {
    static_cast<void>(take_lane(state, slot_, until, now));
  }
}

bool LaneTurns::enter(SharedState& state, Nanoseconds done_at, Nanoseconds now) {
  const bool owned = owns(state, now);
  const Nanoseconds turn_ends =
      now < turn_ends_ ? turn_ends_ : now + (marked_ ? kLongestIteration : kLaneTurn);
  if (!take_lane(state, slot_, taken_until(turn_ends, done_at, now), now)) {
    return false;
  }
  // A request that began meanwhile may have seen the lane free.
  if (!owned && slo_client_signed(state, slot_, now)) {
    leave_lane(state, slot_);
    return false;
  }
  turn_ends_ = turn_ends;
  return true;
}

void LaneTurns::iteration_begins(Nanoseconds now) {
  marked_ = true;
  turn_ends_ = now;
}

void LaneTurns::iteration_ends(SharedState& state, Nanoseconds done_at, Nanoseconds now) {
  marked_ = false;
  turn_ends_ = now;
  if (done_at > now) {
    keep(state, done_at, now);
  } else {
    leave_lane(state, slot_);
  }
}

}  // namespace carpool::interpose::gate
