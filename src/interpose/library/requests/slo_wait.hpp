// Calls in which an SLO job waits for the GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "interpose/library/clock.hpp"
#include "interpose/library/devices.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/requests/copy_direction.hpp"

namespace carpool::interpose {

// The gate of this process on the current GPU; null: it has no SLO, or a capture is alive.
[[nodiscard]] inline Device* slo_device(const Call& call) {
  if (!call.counts() || capture_alive()) {
    return nullptr;
  }
  Device& device = current_device();
  return device.gate.side == GateSide::Slo ? &device : nullptr;
}

// Lives as long as a call that waits for the GPU.
class SloWait {
 public:
  SloWait(const Call& call, const Awaited& awaited) {
    Device* const device = slo_device(call);
    if (device == nullptr || !device->gate.slo.wait_begins(device->client, exact_now_ns())) {
      return;
    }
    device_ = device;
    if (awaited.kind != Awaited::Kind::Copy) {
      covered_ = device->gate.slo.order().covered_by(awaited);
    }
  }
  ~SloWait() {
    if (device_ != nullptr) {
      device_->gate.slo.wait_ends(device_->client, exact_now_ns(), covered_);
    }
  }
  SloWait(const SloWait&) = delete;
  SloWait& operator=(const SloWait&) = delete;

 private:
  Device* device_ = nullptr;
  std::optional<std::uint64_t> covered_{};
};

// Around a copy. An asynchronous one to the host waits in the call if the memory of the host is
// pageable, and then only for itself; the program waits for all of its stream by another call.
class CopyOfRequest {
 public:
  CopyOfRequest(const Call& call, const RequestCopy& copy) {
    if (copy.direction == CopyDirection::ToDevice) {
      if (Device* const device = slo_device(call)) {
        device->gate.slo.input_copied(device->client, exact_now_ns());
      }
    } else if (copy.direction == CopyDirection::ToHost && copy.returns_when_done) {
      wait_.emplace(
          call, Awaited{.kind = Awaited::Kind::Stream, .stream = stream_key(nullptr, copy.twin)});
    } else if (copy.direction == CopyDirection::ToHost ||
               (copy.direction == CopyDirection::Unknown && copy.returns_when_done)) {
      wait_.emplace(call, Awaited{.kind = Awaited::Kind::Copy});
    }
  }

 private:
  std::optional<SloWait> wait_;
};

}  // namespace carpool::interpose
