// Wrappers of the functions that wait for the GPU, and the calls by which a program declares its
// requests.
#include "interpose/library/gating/request_calls.hpp"

#include "interpose/library/gating/slo_wait.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

// NOLINTBEGIN(readability-identifier-naming)

#define SYNCHRONIZE(NAME, PARAMETERS, ...)        \
  Status NAME PARAMETERS {                        \
    const Call call;                              \
    const SloWait wait(call, true, true);         \
    return REAL(NAME __VA_OPT__(, ) __VA_ARGS__); \
  }
SYNCHRONIZE(cuCtxSynchronize, ())
SYNCHRONIZE(cuCtxSynchronize_v2, (Handle context), context)
SYNCHRONIZE(cuEventSynchronize, (Handle event), event)
SYNCHRONIZE(cuStreamSynchronize, (Handle stream), stream)
SYNCHRONIZE(cuStreamSynchronize_ptsz, (Handle stream), stream)

namespace {

void declare(void (SloSide::*what)(Client& client, std::uint64_t now)) {
  const Call call;
  if (!call.counts()) {
    return;
  }
  Device& device = current_device();
  if (device.gate.side == GateSide::Slo) {
    (device.gate.slo.*what)(device.client, exact_now_ns());
  }
}

}  // namespace

extern "C" {

void carpool_request_begin() {
  declare(&SloSide::request_begins);
}

void carpool_request_end() {
  declare(&SloSide::request_ends);
}

}  // extern "C"

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
