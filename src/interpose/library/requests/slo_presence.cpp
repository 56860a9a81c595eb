#include "interpose/library/requests/slo_presence.hpp"

#include "interpose/gate/shared_view.hpp"
#include "interpose/gate/shared_words.hpp"

namespace carpool::interpose {

using gate::Nanoseconds;

namespace {

constexpr Nanoseconds kBetweenSweeps = gate::kSecond;

}  // namespace

void show_slo_presence(Client& client) {
  SharedState* const state = client.shared();
  if (state == nullptr) {
    return;
  }
  const std::uint32_t slot = client.id().slot;
  SharedWord& word = state->gpu.slo_clients[slot / 64];
  const std::uint64_t bit = std::uint64_t{1} << slot % 64;
  if ((word.load(std::memory_order_relaxed) & bit) == 0) {
    word.fetch_or(bit);
  }
}

void EndedSloClients::look(Client& client, Nanoseconds now) {
  Nanoseconds before = looked_.load(std::memory_order_relaxed);
  if (now - before < kBetweenSweeps || !looked_.compare_exchange_strong(before, now)) {
    return;
  }
  SharedState& state = *client.shared();
  const std::uint32_t own = client.id().slot;
  bool one_silent = false;
  gate::for_each_slo_client(state, [&](std::uint32_t slot) {
    // Also its own slot, if that was one of an SLO client before.
    if (!gate::is_slo_client(state.clients[slot])) {
      state.gpu.slo_clients[slot / 64].fetch_and(~(std::uint64_t{1} << slot % 64));
      return;
    }
    const Nanoseconds sign = gate::value_of(state.clients[slot].gate.lease_ns);
    one_silent = one_silent || (slot != own && now - sign > kBetweenSweeps);
  });
  // That calls the system, and may have to wait for a lock: not in a request.
  if (one_silent && !gate::is_slo_client(state.clients[own])) {
    client.reclaim_dead();
  }
}

}  // namespace carpool::interpose
