// The answer of the gate to one launch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

enum class HoldReason : std::uint8_t {
  None,
  InFlightBound,
  CommandsInFlight,
  RequestActive,
  QuietTime,
  ArrivalExpected,
  SlackShort,
  TailOverSlo,
  HeavyBesideRequest,
  LongForSlo,
  SameBottleneck,
  NoFreeSms,
  OtherClientsTurn,
  TighterRequest,
  RateLimit,
  IdleSlotTooShort,
  IterationOfOther,
};
inline constexpr std::uint32_t kHoldReasons = 17;

// A short name for metrics, and a sentence for people.
[[nodiscard]] std::string_view name_of(HoldReason reason);
[[nodiscard]] std::string_view words_for(HoldReason reason);

struct Decision {
  bool admitted = true;
  bool low_priority = false;      // launch with the lowest stream priority
  bool by_minimum_share = false;  // admitted only so that the client is not starved
  HoldReason reason = HoldReason::None;
  std::uint32_t sms = 0;  // SMs that the work is confined to; 0: all
  Nanoseconds until = 0;  // held: when to ask again if no event comes before

  friend bool operator==(const Decision&, const Decision&) = default;
};

// A process that waits shows by asking that it is alive; others do not wait for one that is silent.
inline constexpr Nanoseconds kAskAgain = 10 * kMillisecond;
inline constexpr Nanoseconds kWaiterLease = 2 * kAskAgain;

[[nodiscard]] constexpr Decision admit() {
  return {};
}
[[nodiscard]] constexpr Decision hold(HoldReason reason,
                                      Nanoseconds now,
                                      Nanoseconds until = kNever) {
  return {.admitted = false,
          .reason = reason,
          .until = std::max(now + kMicrosecond, std::min(until, now + kAskAgain))};
}

}  // namespace carpool::interpose::gate
