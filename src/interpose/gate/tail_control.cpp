#include "interpose/gate/tail_control.hpp"

#include <algorithm>

namespace carpool::interpose::gate {

// Whether more requests than a kept promise shows now and then took longer: their expected number,
// two standard deviations, and one more.
bool TailControl::exceeds(Nanoseconds latency) const {
  const std::int64_t expected =
      std::int64_t{latencies_.count()} * (1000 - settings_.quantile_permille);  // thousandths
  const std::int64_t more = 1000 * (std::int64_t{latencies_.above(latency)} - 1) - expected;
  return more > 0 && more * more > 4000 * expected;
}

void TailControl::request_ended(Nanoseconds latency, Nanoseconds slo_ns, Nanoseconds now) {
  ++requests_;
  within_slo_ += latency <= slo_ns ? 1 : 0;
  if (requests_ <= settings_.first_requests) {
    return;
  }
  latencies_.add(latency);
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
  if (latencies_.count() < settings_.least_requests) {
    return;
  }
  if (exceeds(slo_ns / 1000 * settings_.target_permille)) {
    room_permille_ = std::max(settings_.least_room_permille, room_permille_ / 2);
    time_only_until_ = now + settings_.pause;
    latencies_.clear();  // the next look judges what the smaller room gives
  } else if (!exceeds(slo_ns / 1000 * settings_.comfortable_permille)) {
    room_permille_ = std::min(1000U, room_permille_ + settings_.step_permille);
  }
}

}  // namespace carpool::interpose::gate
