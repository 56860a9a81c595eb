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

using OfRequest = void (SloSide::*)(Client& client, std::uint64_t now);
using OfIteration = void (BestEffortSide::*)(Client& client);

void declare(OfRequest of_request, OfIteration of_iteration) {
  const Call call;
  if (!call.counts()) {
    return;
  }
  Device& device = current_device();
  if (device.gate.side == GateSide::Slo) {
    (device.gate.slo.*of_request)(device.client, exact_now_ns());
  } else if (device.gate.side == GateSide::BestEffort) {
    (device.gate.best_effort.*of_iteration)(device.client);
  }
}

}  // namespace

extern "C" {

void carpool_request_begin() {
  declare(&SloSide::request_begins, &BestEffortSide::iteration_begins);
}

void carpool_request_end() {
  declare(&SloSide::request_ends, &BestEffortSide::iteration_ends);
}

}  // extern "C"

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
