#include "interpose/library/requests/host_callbacks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "interpose/library/clock.hpp"
#include "interpose/library/devices.hpp"
#include "interpose/library/spin_lock.hpp"

namespace carpool::interpose {
namespace {

enum class PlaceState : std::uint8_t {
  Free,
  Due,
  GivenUp,  // it may run yet, and then finds the program's
};

struct Place {
  PlaceState state = PlaceState::Free;
  ProgramCallback callback{};
  Device* device = nullptr;
  Reach reach{};  // what is done when it runs
};

constexpr std::size_t kMost = 64;             // that have not run yet
constinit SpinLock places_lock;               // NOLINT
constinit std::array<Place, kMost> places{};  // NOLINT: with the lock held

ProgramCallback leave(void* kept, bool done) {
  Place left;
  {
    const SpinLock::Holder held(places_lock);
    left = std::exchange(*static_cast<Place*>(kept), Place{});
  }
  if (left.state == PlaceState::Due) {
    left.device->gate.slo.callback_ends(
        left.device->client, exact_now_ns(), done ? std::optional(left.reach) : std::nullopt);
  }
  return left.callback;
}

Place* take_place(const Place& taken) {
  const SpinLock::Holder held(places_lock);
  Place* const place = std::ranges::find(places, PlaceState::Free, &Place::state);
  if (place == places.end()) {
    return nullptr;
  }
  *place = taken;
  return place;
}

// Of those that are due; false: there is none.
bool give_one_up(const Device& device) {
  const SpinLock::Holder held(places_lock);
  Place* const place = std::ranges::find_if(places, [&](const Place& one) {
    return one.state == PlaceState::Due && one.device == &device;
  });
  if (place == places.end()) {
    return false;
  }
  place->state = PlaceState::GivenUp;
  return true;
}

// Errors of kernels, and of the memory of the GPU: all calls fail from then on.
bool breaks_context(Status status) {
  constexpr Status kUncorrectableMemory = 214;
  constexpr Status kErrorsOfKernels = 7;  // hundreds
  return status / 100 == kErrorsOfKernels || status == kUncorrectableMemory;
}

}  // namespace

void* keep_callback(const Call& call, const ProgramCallback& callback, const Awaited& awaited) {
  Device* const device = slo_device_of_work(call);
  // Without a function the driver tells what is wrong.
  if (device == nullptr || (callback.function == nullptr && callback.with_status == nullptr)) {
    return nullptr;
  }
  SloSide& side = device->gate.slo;
  if (!side.callback_is_due(device->client, exact_now_ns())) {
    return nullptr;
  }
  Place* const place = take_place({.state = PlaceState::Due,
                                   .callback = callback,
                                   .device = device,
                                   .reach = side.order().reach_of(awaited)});
  if (place == nullptr) {
    side.callback_ends(device->client, exact_now_ns(), std::nullopt);
  }
  return place;
}

void see_errors(const Call& call, Status status) {
  Device* const device = breaks_context(status) ? slo_device(call) : nullptr;
  while (device != nullptr && give_one_up(*device)) {
    device->gate.slo.callback_ends(device->client, exact_now_ns(), std::nullopt);
  }
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
