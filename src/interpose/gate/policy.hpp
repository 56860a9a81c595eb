// The policies of the gate, by name. A policy is a pure function of what it sees, and for some of
// them of a memory that events change.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "interpose/gate/decision.hpp"
#include "interpose/gate/event.hpp"
#include "interpose/gate/gate_view.hpp"
#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

// tgs: the rate of blocks that the SLO clients launch, and the limit of the best-effort ones.
struct RateMemory {
  Nanoseconds window_began = 0;
  std::uint64_t slo_blocks = 0;
  std::uint64_t most_slo_blocks = 0;
  std::uint32_t bad_windows = 0;
  bool slow_start = true;
  std::uint64_t limit_blocks = 1000;  // in a slot of 50 ms
  Nanoseconds slot_began = 0;
  std::uint64_t used_blocks = 0;
};

// hami: tokens of each client.
struct TokenMemory {
  Nanoseconds refilled = 0;
  std::array<std::int64_t, kMostClients> tokens{};
  std::array<Nanoseconds, kMostClients> busy_ns{};
  std::array<std::uint32_t, kMostClients> limit_permille{};
};

// salus: the client whose iteration runs. One that marks no iterations gives the lane back after
// the first of these times, and one that does not end its iteration after the second.
inline constexpr Nanoseconds kLaneTurn = 100 * kMillisecond;
inline constexpr Nanoseconds kLongestIteration = kSecond;
struct LaneMemory {
  bool taken = false;
  std::uint32_t owner = 0;
  Nanoseconds expires = 0;
};

struct PolicyMemory {
  RateMemory rate;
  TokenMemory token;
  LaneMemory lane;
};

using Decide = Decision (*)(const GateView& view,
                            const PolicyMemory& memory,
                            const Work& work,
                            Nanoseconds now);
using Observe = void (*)(PolicyMemory& memory, const DeviceFacts& device, const Event& event);

struct Policy {
  std::string_view name;
  std::string_view summary;
  bool needs_mps = false;
  bool minimum_share = false;  // keeps kMinimumSharePermille for each best-effort client
  bool takes_limit = false;    // of a client's use of the GPU
  Decide decide = nullptr;
  Observe observe = nullptr;  // null: no memory
};

// Of policies with minimum_share: work with the bound d is held for at most d / 2 % once no other
// best-effort work is in flight and it is the client's turn.
inline constexpr std::uint32_t kMinimumSharePermille = 20;
// For which the driver lets one process run where it slices the time.
inline constexpr Nanoseconds kSlice = 2 * kMillisecond;
[[nodiscard]] constexpr Nanoseconds longest_hold(const Work& work) {
  return work.bound_ns * 1000 / kMinimumSharePermille;
}

// The first one is the default.
[[nodiscard]] std::span<const Policy> policies();
// Null for a name that no policy has.
[[nodiscard]] const Policy* find_policy(std::string_view name);

// A policy as a user writes it: "time", or with a limit in percent, "hami:50".
struct PolicyChoice {
  const Policy* policy = nullptr;  // null: no such name, or a limit that is none
  std::uint32_t limit_permille = 1000;
};
[[nodiscard]] PolicyChoice choose_policy(std::string_view text);

// Whether work fits beside what is in flight. A kernel longer than the bound goes alone.
[[nodiscard]] constexpr bool fits(Nanoseconds in_flight, Nanoseconds added, Nanoseconds bound) {
  return in_flight == 0 || in_flight + added <= bound;
}

}  // namespace carpool::interpose::gate
