#include "interpose/gate/tail_control.hpp"

#include <algorithm>

namespace carpool::interpose::gate {

void TailControl::request_ended(Nanoseconds latency, Nanoseconds slo_ns, Nanoseconds now) {
  latencies_.add(latency);
  ++requests_;
  within_slo_ += latency <= slo_ns ? 1 : 0;
  if (since_look_ == 0 && looked_at_ == 0) {
    looked_at_ = now;
  }
  ++since_look_;
  if (since_look_ >= settings_.requests || now - looked_at_ >= settings_.period) {
    look(slo_ns, now);
  }
}

void TailControl::look(Nanoseconds slo_ns, Nanoseconds now) {
  since_look_ = 0;
  looked_at_ = now;
  // One late request of a few does not make a tail: the first ones of a program, which load its
  // kernels, are late as a rule.
  const std::uint32_t count = latencies_.count();
  if (count < 2) {
    return;
  }
  const Nanoseconds measured =
      latencies_.quantile(std::min(settings_.quantile_permille, 1000 - (1000 + count - 1) / count));
  if (measured > slo_ns / 1000 * settings_.target_permille) {
    room_permille_ = std::max(settings_.least_room_permille, room_permille_ / 2);
    time_only_until_ = now + settings_.pause;
    latencies_.clear();  // the next look judges what the smaller room gives
  } else if (measured <= slo_ns / 1000 * settings_.comfortable_permille) {
    room_permille_ = std::min(1000U, room_permille_ + settings_.step_permille);
  }
}

}  // namespace carpool::interpose::gate
