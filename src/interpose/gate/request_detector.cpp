#include "interpose/gate/request_detector.hpp"

#include <algorithm>

namespace carpool::interpose::gate {

bool RequestDetector::launched(Nanoseconds expected_ns, Nanoseconds now) {
  const bool begins = !in_request_ || phase(now) == RequestPhase::Idle;
  if (begins) {
    in_request_ = true;
    declared_ = false;
    drained_at_ = now;
    outstanding_ = 0;
  }
  ++outstanding_;
  last_launch_ = now;
  last_sign_ = now;
  drained_at_ = std::max(drained_at_, now) + expected_ns;
  return begins;
}

void RequestDetector::finished(std::uint32_t outstanding, Nanoseconds now) {
  outstanding_ = outstanding;
  last_sign_ = now;
  if (outstanding == 0) {
    drained_at_ = now;
  }
}

void RequestDetector::began(Nanoseconds now) {
  in_request_ = true;
  declared_ = true;
  outstanding_ = 0;
  last_launch_ = now;
  drained_at_ = now;
  last_sign_ = now;
}

void RequestDetector::ended(Nanoseconds now) {
  in_request_ = false;
  declared_ = false;
  last_sign_ = now;
  finished_at_ = now;
}

RequestPhase RequestDetector::phase(Nanoseconds now) const {
  if (!in_request_ || now - last_sign_ >= settings_.lease_ns) {
    return RequestPhase::Idle;
  }
  if (declared_ || working(now)) {
    return RequestPhase::Busy;
  }
  return now - last_launch_ < settings_.quiet_ns ? RequestPhase::Quiet : RequestPhase::Idle;
}

Nanoseconds RequestDetector::idle_at(Nanoseconds now) const {
  if (!in_request_) {
    return now;
  }
  const Nanoseconds lease_ends = last_sign_ + settings_.lease_ns;
  if (declared_ || (settings_.reports && outstanding_ > 0)) {
    return std::max(now, lease_ends);
  }
  const Nanoseconds quiet_ends = std::max(drained_at_, last_launch_ + settings_.quiet_ns);
  return std::max(now, std::min(lease_ends, quiet_ends));
}

RequestEnd RequestDetector::take_end(Nanoseconds now) {
  if (!in_request_ || phase(now) != RequestPhase::Idle) {
    return RequestEnd::None;
  }
  const Nanoseconds quiet_ends = std::max(drained_at_, last_launch_ + settings_.quiet_ns);
  const bool lapsed = declared_ || (settings_.reports && outstanding_ > 0) ||
                      last_sign_ + settings_.lease_ns < quiet_ends;
  in_request_ = false;
  declared_ = false;
  finished_at_ = std::min(now, std::max(drained_at_, last_launch_));
  return lapsed ? RequestEnd::Lapsed : RequestEnd::Finished;
}

}  // namespace carpool::interpose::gate
