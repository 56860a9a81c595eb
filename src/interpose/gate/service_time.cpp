#include "interpose/gate/service_time.hpp"

#include <algorithm>

#include "interpose/gate/tail_control.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr std::uint32_t kFirst = TailSettings{}.first_requests;
constexpr std::uint32_t kLast = 256;
constexpr Nanoseconds kLongest = 100 * kSecond;

}  // namespace

void ServiceTime::add(Nanoseconds time) {
  added_ = std::min(added_ + 1, kFirst + kLast);
  if (added_ <= kFirst) {
    return;
  }
  const float us = static_cast<float>(std::clamp<Nanoseconds>(time, 0, kLongest)) /
                   static_cast<float>(kMicrosecond);
  const float weight = 1.0F / static_cast<float>(added_ - kFirst);
  mean_us_ += weight * (us - mean_us_);
  square_us2_ += weight * (us * us - square_us2_);
}

std::uint64_t ServiceTime::mean_ns() const {
  return static_cast<std::uint64_t>(mean_us_ * static_cast<float>(kMicrosecond));
}

std::uint64_t ServiceTime::mean_square_us2() const {
  return static_cast<std::uint64_t>(square_us2_);
}

}  // namespace carpool::interpose::gate
