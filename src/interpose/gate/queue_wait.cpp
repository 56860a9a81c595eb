#include "interpose/gate/queue_wait.hpp"

#include <algorithm>

namespace carpool::interpose::gate {
namespace {

constexpr std::uint32_t kMemory = 64;    // requests
constexpr float kWithoutPauses = 0.95F;  // share of requests that begin soon
constexpr int kMostDraws = 16;

// About exp(-value), without a library of mathematics.
[[nodiscard]] float decay(float value) {
  return 1.0F / (1.0F + value * (1.0F + value * (0.5F + value / 6.0F)));
}

}  // namespace

void QueueWait::count(Nanoseconds now, bool soon) {
  counted_ = std::min(counted_ + 1, kMemory);
  const float weight = 1.0F / static_cast<float>(counted_);
  soon_share_ += weight * ((soon ? 1.0F : 0.0F) - soon_share_);
  interval_ns_ += weight * (static_cast<float>(now - began_at_) - interval_ns_);
}

float QueueWait::draw() {
  random_ ^= random_ << 13U;
  random_ ^= random_ >> 7U;
  random_ ^= random_ << 17U;
  return static_cast<float>(random_ >> 40U) / static_cast<float>(std::uint64_t{1} << 24U);
}

// The time between the arrival of the last request and that of this one is exponential, and less
// than the latency of the last one.
Nanoseconds QueueWait::drawn_wait() {
  const auto latency = static_cast<float>(latency_);
  float between = latency * draw();
  for (int i = 0; i < kMostDraws && draw() > decay(between / std::max(1.0F, interval_ns_)); ++i) {
    between = latency * draw();
  }
  return latency_ - static_cast<Nanoseconds>(between);
}

Nanoseconds QueueWait::began(Nanoseconds now) {
  Nanoseconds waited = 0;
  if (ended_at_ >= 0) {
    const bool soon = now - ended_at_ < soon_;
    count(now, soon);
    waited = soon && soon_share_ < kWithoutPauses ? std::max<Nanoseconds>(0, drawn_wait()) : 0;
  }
  began_at_ = now;
  return waited;
}

void QueueWait::ended(Nanoseconds at, Nanoseconds latency) {
  ended_at_ = at;
  latency_ = latency;
}

}  // namespace carpool::interpose::gate
