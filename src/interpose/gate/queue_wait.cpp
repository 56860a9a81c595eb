#include "interpose/gate/queue_wait.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr std::uint32_t kWeight = 16;          // a new request counts 1/16
constexpr std::uint32_t kWithoutPauses = 750;  // permille of requests that begin soon
constexpr Nanoseconds kQuartersWaited = 3;     // of the time of the request before

}  // namespace

Nanoseconds QueueWait::began(Nanoseconds now) {
  if (ended_at_ < 0) {
    return 0;
  }
  const bool soon = now - ended_at_ < soon_;
  soon_permille_ = (soon_permille_ * (kWeight - 1) + (soon ? 1000 : 0)) / kWeight;
  return soon && soon_permille_ < kWithoutPauses ? latency_ / 4 * kQuartersWaited : 0;
}

void QueueWait::ended(Nanoseconds at, Nanoseconds latency) {
  ended_at_ = at;
  latency_ = latency;
}

}  // namespace carpool::interpose::gate
