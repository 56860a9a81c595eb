#include "interpose/gate/lane_turns.hpp"

#include <algorithm>

#include "interpose/gate/shared_view.hpp"

namespace carpool::interpose::gate {

LaneMemory LaneTurns::sight(const SharedState& state, Nanoseconds now) const {
  const Lane lane = lane_of(state, now);
  const bool own = lane.taken && lane.slot == slot_ && now < turn_ends_;
  return {.taken = lane.taken, .owner = own ? 0U : 1U, .expires = lane.until};
}

bool LaneTurns::enter(SharedState& state, Nanoseconds done_at, Nanoseconds now) {
  const Lane before = lane_of(state, now);
  const Nanoseconds turn_ends =
      now < turn_ends_ ? turn_ends_ : now + (marked_ ? kLongestIteration : kLaneTurn);
  // Taken for a short time again and again, so that it is free soon if this process is killed.
  const Nanoseconds until =
      std::max(std::min(turn_ends, now + kLaneTurn), std::min(done_at, now + kLongestIteration));
  if (!take_lane(state, slot_, until, now)) {
    return false;
  }
  // A request that began meanwhile may have seen the lane free.
  if (!before.taken && slo_client_worked(state, slot_, now)) {
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
  const Lane lane = lane_of(state, now);
  if (!lane.taken || lane.slot != slot_) {
    return;
  }
  if (done_at <= now) {
    leave_lane(state, slot_);
  } else {
    static_cast<void>(take_lane(state, slot_, std::min(done_at, now + kLongestIteration), now));
  }
}

}  // namespace carpool::interpose::gate
