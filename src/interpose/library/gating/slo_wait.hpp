// Calls in which an SLO job waits for the GPU.
#pragma once

#include "interpose/library/clock.hpp"
#include "interpose/library/copies.hpp"
#include "interpose/library/devices.hpp"
#include "interpose/library/process.hpp"

namespace carpool::interpose {

// Lives as long as a call. `may_wait`: the call may wait for the GPU; `all_done`: the work of the
// program is done when it ends.
class SloWait {
 public:
  SloWait(const Call& call, bool may_wait, bool all_done) : all_done_(all_done) {
    if (!may_wait || !call.counts() || capture_alive()) {
      return;
    }
    Device& device = current_device();
    if (device.gate.side == GateSide::Slo &&
        device.gate.slo.wait_begins(device.client, exact_now_ns())) {
      device_ = &device;
    }
  }
  ~SloWait() {
    if (device_ != nullptr) {
      device_->gate.slo.wait_ends(device_->client, exact_now_ns(), all_done_);
    }
  }
  SloWait(const SloWait&) = delete;
  SloWait& operator=(const SloWait&) = delete;

 private:
  Device* device_ = nullptr;
  bool all_done_;
};

// Around a copy. The driver waits in the call if the memory of the host is pageable, and then only
// for the copy's stream; the program waits for all of it by another call.
class CopyOfRequest {
 public:
  CopyOfRequest(const Call& call, CopyMeaning meaning)
      : wait_(call, meaning == CopyMeaning::Result, false) {
    if (meaning != CopyMeaning::Input || !call.counts() || capture_alive()) {
      return;
    }
    Device& device = current_device();
    if (device.gate.side == GateSide::Slo) {
      device.gate.slo.input_copied(device.client, exact_now_ns());
    }
  }

 private:
  SloWait wait_;
};

}  // namespace carpool::interpose
