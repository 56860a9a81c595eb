#include "interpose/library/gating/sign_bell.hpp"

#include <bit>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace carpool::interpose {

namespace {

static_assert(std::endian::native == std::endian::little);  // the lower half is waited for

void* half_of(SharedState& state) {
  return &state.gpu.slo_signs;
}

}  // namespace

void ring_bell(SharedState& state) {
  state.gpu.slo_signs.fetch_add(1);
  if (state.gpu.waiting_keepers.load() != 0) {
    ::syscall(SYS_futex, half_of(state), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

std::uint32_t bell_count(const SharedState& state) {
  return static_cast<std::uint32_t>(state.gpu.slo_signs.load());
}

void sleep_until_bell(SharedState& state, std::uint32_t seen, gate::Nanoseconds span) {
  const timespec time{.tv_sec = span / gate::kSecond, .tv_nsec = span % gate::kSecond};
  state.gpu.waiting_keepers.fetch_add(1);
  ::syscall(SYS_futex, half_of(state), FUTEX_WAIT, seen, &time, nullptr, 0);
  state.gpu.waiting_keepers.fetch_sub(1);
}

}  // namespace carpool::interpose
