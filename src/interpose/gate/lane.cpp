#include "interpose/gate/lane.hpp"

#include <algorithm>

namespace carpool::interpose::gate {
namespace {

// The slot plus 1 in the lowest bits, and the time above.
constexpr unsigned kSlotBits = 8;
constexpr std::uint64_t kSlotMask = (std::uint64_t{1} << kSlotBits) - 1;
constexpr Nanoseconds kMostTime = (Nanoseconds{1} << 55U) - 1;
static_assert(kClientSlots < kSlotMask);

[[nodiscard]] std::uint64_t word_of(std::uint32_t slot, Nanoseconds until) {
  const auto time = static_cast<std::uint64_t>(std::clamp<Nanoseconds>(until, 0, kMostTime));
  return time << kSlotBits | (slot + 1U);
}

[[nodiscard]] Lane read(std::uint64_t word, Nanoseconds now) {
  const auto owner = static_cast<std::uint32_t>(word & kSlotMask);
  const auto until = static_cast<Nanoseconds>(word >> kSlotBits);
  // A damaged word holds no client.
  if (owner == 0 || owner > kClientSlots || now >= until) {
    return {};
  }
  return {.taken = true, .slot = owner - 1, .until = until};
}

}  // namespace

Lane lane_of(const SharedState& state, Nanoseconds now) {
  return read(state.gpu.lane.load(std::memory_order_relaxed), now);
}

bool take_lane(SharedState& state, std::uint32_t slot, Nanoseconds until, Nanoseconds now) {
  std::uint64_t seen = state.gpu.lane.load(std::memory_order_relaxed);
  do {
    const Lane lane = read(seen, now);
    if (lane.taken && lane.slot != slot) {
      return false;
    }
  } while (!state.gpu.lane.compare_exchange_weak(seen, word_of(slot, until)));
  return true;
}

void leave_lane(SharedState& state, std::uint32_t slot) {
  std::uint64_t seen = state.gpu.lane.load(std::memory_order_relaxed);
  while ((seen & kSlotMask) == slot + 1U && !state.gpu.lane.compare_exchange_weak(seen, 0)) {
  }
}

void clear_lane(SharedState& state, Nanoseconds now) {
  std::uint64_t seen = state.gpu.lane.load(std::memory_order_relaxed);
  if (seen != 0 && !read(seen, now).taken) {
    state.gpu.lane.compare_exchange_strong(seen, 0);
  }
}

}  // namespace carpool::interpose::gate
