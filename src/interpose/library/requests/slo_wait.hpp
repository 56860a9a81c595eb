// Calls in which an SLO job waits for the GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "interpose/library/clock.hpp"
#include "interpose/library/devices.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/requests/copy_direction.hpp"

namespace carpool::interpose {

// The gate of this process on the current GPU; null: it has no SLO.
[[nodiscard]] inline Device* slo_device(const Call& call) {
  if (!call.counts()) {
    return nullptr;
  }
  Device& device = current_device();
  return device.gate.side == GateSide::Slo ? &device : nullptr;
}

// The same for calls that may belong to a capture: null while one is alive.
[[nodiscard]] inline Device* slo_device_of_work(const Call& call) {
  return capture_alive() ? nullptr : slo_device(call);
}

// Lives as long as a call that waits for the GPU.
class SloWait {
 public:
  // A copy into the request that waits for earlier work ends no launch phase.
  enum class Ends : std::uint8_t { Phase, Nothing };

  SloWait(const Call& call, const Awaited& awaited, Ends ends = Ends::Phase) {
    Device* const device = slo_device(call);
    if (device == nullptr ||
        !device->gate.slo.wait_begins(device->client, exact_now_ns(), ends == Ends::Phase)) {
      return;
    }
    device_ = device;
    if (awaited.kind != Awaited::Kind::Copy) {
      reach_ = device->gate.slo.order().reach_of(awaited);
    }
  }
  ~SloWait() {
    if (device_ != nullptr) {
      device_->gate.slo.wait_ends(device_->client, exact_now_ns(), reach_);
    }
  }
  SloWait(const SloWait&) = delete;
  SloWait& operator=(const SloWait&) = delete;

 private:
  Device* device_ = nullptr;
  std::optional<Reach> reach_{};
};

// Around a copy. Asynchronous ones wait in the call if the memory of the host is pageable: one to
// the host only for itself, because the program waits for all of its stream by another call; one to
// the GPU for what is in front of it.
class CopyOfRequest {
 public:
  CopyOfRequest(const Call& call, const RequestCopy& copy) {
    if (copy.direction == CopyDirection::OnDevice) {
      return;
    }
    Device* const device = slo_device_of_work(call);
    if (device == nullptr) {
      return;
    }
    const CopyDirection direction = copy.direction == CopyDirection::Unknown && copy.target != 0
                                        ? direction_by_address(copy.source, copy.target)
                                        : copy.direction;
    if (direction == CopyDirection::ToDevice) {
      copies_input(call, *device);
    } else if (direction == CopyDirection::ToHost && copy.returns_when_done) {
      wait_.emplace(
          call, Awaited{.kind = Awaited::Kind::Stream, .stream = stream_key(nullptr, copy.twin)});
    } else if (direction == CopyDirection::ToHost ||
               (direction == CopyDirection::Unknown && copy.returns_when_done)) {
      wait_.emplace(call, kItself);
    }
  }

 private:
  static constexpr Awaited kItself{.kind = Awaited::Kind::Copy};

  void copies_input(const Call& call, Device& device) {
    SloSide& side = device.gate.slo;
    const std::uint64_t now = exact_now_ns();
    const bool behind_work = side.works(now);
    side.input_copied(device.client, now);
    if (behind_work) {
      wait_.emplace(call, kItself, SloWait::Ends::Nothing);
    }
  }

  std::optional<SloWait> wait_;
};

}  // namespace carpool::interpose
