// What a program asks the gate for: one launch, with what is believed of its duration and size.
#pragma once

#include <cstdint>
#include <limits>

namespace carpool::interpose::gate {

// Times and durations. Signed: slack may be negative. Any clock that does not go back will do.
using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kMicrosecond = 1000;
inline constexpr Nanoseconds kMillisecond = 1000 * kMicrosecond;
inline constexpr Nanoseconds kSecond = 1000 * kMillisecond;
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

// As many as an MPS server has.
inline constexpr std::uint32_t kMostClients = 48;

enum class WorkKind : std::uint8_t { Kernel, Graph, Cooperative, Copy };

// What limits a kernel, from a profile.
enum class Bottleneck : std::uint8_t { Unknown, Compute, Memory };

struct Work {
  std::uint32_t client = 0;
  WorkKind kind = WorkKind::Kernel;
  Bottleneck bottleneck = Bottleneck::Unknown;
  bool known = false;           // durations are those of this kernel, not those of an unknown one
  Nanoseconds expected_ns = 0;  // mean, on all SMs
  Nanoseconds bound_ns = 0;     // upper quantile: what the bound of work in flight counts
  std::uint32_t sms = 1;        // SMs that its blocks occupy at once
  std::uint64_t blocks = 1;
  std::uint32_t least_sms = 1;  // of the smallest part on which it computes the same
};

// Above these a kernel is heavy: another client's kernel may have to wait for it.
inline constexpr Nanoseconds kLightDuration = 25 * kMicrosecond;
inline constexpr Nanoseconds kLightResidency = 50 * kMicrosecond;
inline constexpr std::uint32_t kLightSmsPermille = 250;

// A kernel is light if it is short, or occupies few SMs and is not long. A kernel of which nothing
// is known is heavy, and so is a cooperative launch, which needs all of its SMs at once.
[[nodiscard]] constexpr bool is_light(const Work& work, std::uint32_t sms_of_gpu) {
  if (!work.known || work.kind == WorkKind::Cooperative) {
    return false;
  }
  const bool small =
      std::uint64_t{work.sms} * 1000 <= std::uint64_t{sms_of_gpu} * kLightSmsPermille;
  return work.bound_ns <= kLightDuration || (small && work.bound_ns <= kLightResidency);
}

}  // namespace carpool::interpose::gate
