// Clocks of the library.
#pragma once

#include <cstdint>
#include <ctime>

namespace carpool::interpose {

// Of the monotonic clock, exact to a few milliseconds: a tenth of the cost of the exact time.
[[nodiscard]] inline std::uint64_t coarse_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

[[nodiscard]] inline std::uint64_t exact_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

// The same for differences.
[[nodiscard]] inline std::int64_t exact_now() {
  return static_cast<std::int64_t>(exact_now_ns());
}

// Sleeps for less than a second. Ends early at a signal.
inline void pause_ns(std::int64_t span) {
  const timespec time{.tv_sec = 0, .tv_nsec = span};
  ::nanosleep(&time, nullptr);
}

}  // namespace carpool::interpose
