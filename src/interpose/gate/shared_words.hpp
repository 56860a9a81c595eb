// Reading the words of the shared state, which another process may have damaged.
#pragma once

#include <algorithm>
#include <cstdint>

#include "interpose/gate/work.hpp"
#include "interpose/state/layout.hpp"
#include "interpose/state/slot_bits.hpp"

namespace carpool::interpose::gate {

[[nodiscard]] inline Nanoseconds value_of(const SharedWord& word) {
  // A damaged word must not overflow a sum.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
  return static_cast<Nanoseconds>(std::min(word.load(std::memory_order_relaxed), kMost));
}

// `visit` gets the number of the slot.
template <typename Visit>
void for_each_slo_client(const SharedState& state, const Visit& visit) {
  for_each_bit(state.gpu.slo_clients[0].load(std::memory_order_relaxed),
               state.gpu.slo_clients[1].load(std::memory_order_relaxed),
               visit);
}

}  // namespace carpool::interpose::gate
