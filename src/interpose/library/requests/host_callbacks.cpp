#include "interpose/library/requests/host_callbacks.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "interpose/library/clock.hpp"
#include "interpose/library/devices.hpp"

namespace carpool::interpose {
namespace {

struct Place {
  std::atomic<bool> taken{false};
  ProgramCallback callback{};
  Device* device = nullptr;
  Reach reach{};  // what is done when it runs
};

constexpr std::size_t kMost = 64;             // that have not run yet
constinit std::array<Place, kMost> places{};  // NOLINT: the driver runs them in threads of its own

ProgramCallback leave(void* kept, bool done) {
  Place& place = *static_cast<Place*>(kept);
  const ProgramCallback callback = place.callback;
  Device& device = *place.device;
  const std::optional<Reach> reach = done ? std::optional(place.reach) : std::nullopt;
  place.taken.store(false, std::memory_order_release);
  device.gate.slo.callback_ends(device.client, exact_now_ns(), reach);
  return callback;
}

}  // namespace

void* keep_callback(const Call& call, const ProgramCallback& callback, const Awaited& awaited) {
  Device* const device = slo_device_of_work(call);
  // Without a function the driver tells what is wrong.
  if (device == nullptr || (callback.function == nullptr && callback.with_status == nullptr)) {
    return nullptr;
  }
  for (Place& place : places) {
    if (place.taken.exchange(true, std::memory_order_acquire)) {
      continue;
    }
    if (!device->gate.slo.callback_is_due(device->client, exact_now_ns())) {
      place.taken.store(false, std::memory_order_release);
      return nullptr;
    }
    place.callback = callback;
    place.device = device;
    place.reach = device->gate.slo.order().reach_of(awaited);
    return &place;
  }
  return nullptr;
}

void forget_callback(void* kept) {
  leave(kept, false);
}

// It has ended first: the callback may wake a thread that begins with the next request.
void run_host_function(void* kept) {
  const ProgramCallback callback = leave(kept, true);
  callback.function(callback.data);
}

void run_stream_function(Handle stream, Status status, void* kept) {
  const ProgramCallback callback = leave(kept, true);
  callback.with_status(stream, status, callback.data);
}

}  // namespace carpool::interpose
