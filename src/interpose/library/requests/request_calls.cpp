// Wrappers of the functions that wait for the GPU, and the calls by which a program declares its
// requests.
#include "interpose/library/requests/request_calls.hpp"

#include <optional>

#include "interpose/library/requests/host_callbacks.hpp"
#include "interpose/library/requests/slo_wait.hpp"
#include "interpose/library/spin_lock.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

Awaited the_event(Handle event) {
  return {.kind = Awaited::Kind::Event, .event = event};
}

Awaited the_stream(Handle stream, Twin twin) {
  return {.kind = Awaited::Kind::Stream, .stream = stream_key(stream, twin)};
}

// Whether work is done: the answer tells of what the driver had before it was asked.
class Question {
 public:
  Question(const Call& call, const Awaited& awaited) : device_(slo_device(call)) {
    if (device_ != nullptr) {
      reach_ = device_->gate.slo.asked(awaited);
    }
  }
  [[nodiscard]] Status answered(Status status) const {
    if (reach_ && (status == kSuccess || status == kNotReady)) {
      device_->gate.slo.answered(device_->client, exact_now_ns(), *reach_, status == kSuccess);
    }
    return status;
  }

 private:
  Device* device_;
  std::optional<Reach> reach_{};
};

// A callback that the driver has not taken never runs.
Status taken(Status status, void* callback) {
  if (status != kSuccess) {
    forget_callback(callback);
  }
  return status;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

#define SYNCHRONIZE(NAME, PARAMETERS, AWAITED, ...)              \
  Status NAME PARAMETERS {                                       \
    const Call call;                                             \
    const SloWait wait(call, AWAITED);                           \
    const Status status = REAL(NAME __VA_OPT__(, ) __VA_ARGS__); \
    see_errors(call, status);                                    \
    return status;                                               \
  }
SYNCHRONIZE(cuCtxSynchronize, (), Awaited{})
SYNCHRONIZE(cuCtxSynchronize_v2, (Handle context), Awaited{}, context)
SYNCHRONIZE(cuEventSynchronize, (Handle event), the_event(event), event)
SYNCHRONIZE(cuStreamSynchronize, (Handle stream), the_stream(stream, Twin::Legacy), stream)
SYNCHRONIZE(cuStreamSynchronize_ptsz, (Handle stream), the_stream(stream, Twin::PerThread), stream)

#define QUERY(NAME, HANDLE, AWAITED)          \
  Status NAME(Handle HANDLE) {                \
    const Call call;                          \
    const Question question(call, AWAITED);   \
    const Status status = REAL(NAME, HANDLE); \
    see_errors(call, status);                 \
    return question.answered(status);         \
  }
QUERY(cuEventQuery, event, the_event(event))
QUERY(cuStreamQuery, stream, the_stream(stream, Twin::Legacy))
QUERY(cuStreamQuery_ptsz, stream, the_stream(stream, Twin::PerThread))

#define HOST_FUNCTION(NAME, TWIN)                                                                  \
  Status NAME(Handle stream, HostFunction function, void* data) {                                  \
    const Call call;                                                                               \
    void* const kept =                                                                             \
        keep_callback(call, {.function = function, .data = data}, the_stream(stream, Twin::TWIN)); \
    if (kept == nullptr) {                                                                         \
      return REAL(NAME, stream, function, data);                                                   \
    }                                                                                              \
    return taken(REAL(NAME, stream, &run_host_function, kept), kept);                              \
  }
HOST_FUNCTION(cuLaunchHostFunc, Legacy)
HOST_FUNCTION(cuLaunchHostFunc_ptsz, PerThread)

#define STREAM_CALLBACK(NAME, TWIN)                                                     \
  Status NAME(Handle stream, StreamFunction function, void* data, unsigned flags) {     \
    const Call call;                                                                    \
    void* const kept = keep_callback(                                                   \
        call, {.with_status = function, .data = data}, the_stream(stream, Twin::TWIN)); \
    if (kept == nullptr) {                                                              \
      return REAL(NAME, stream, function, data, flags);                                 \
    }                                                                                   \
    return taken(REAL(NAME, stream, &run_stream_function, kept, flags), kept);          \
  }
STREAM_CALLBACK(cuStreamAddCallback, Legacy)
STREAM_CALLBACK(cuStreamAddCallback_ptsz, PerThread)

namespace {

using OfRequest = void (SloSide::*)(Client& client, std::uint64_t now);
using OfIteration = void (BestEffortSide::*)(Client& client);

// Requests that are open, and the GPU that was current when the first of them began: a thread may
// have chosen another one since.
constinit SpinLock open_lock;             // NOLINT
constinit std::uint32_t open_requests{};  // NOLINT
constinit Device* opened_on{};            // NOLINT

Device& device_of_begin() {
  const SpinLock::Holder held(open_lock);
  if (open_requests++ == 0) {
    opened_on = &current_device();
  }
  return *opened_on;
}

Device& device_of_end() {
  const SpinLock::Holder held(open_lock);
  if (open_requests == 0) {
    return current_device();
  }
  --open_requests;
  return *opened_on;
}

void declare(Device& (*device_of)(), OfRequest of_request, OfIteration of_iteration) {
  const Call call;
  if (!call.counts()) {
    return;
  }
  Device& device = device_of();
  if (device.gate.side == GateSide::Slo) {
    (device.gate.slo.*of_request)(device.client, exact_now_ns());
  } else if (device.gate.side == GateSide::BestEffort) {
    (device.gate.best_effort.*of_iteration)(device.client);
  }
}

}  // namespace

extern "C" {

void carpool_request_begin() {
  declare(&device_of_begin, &SloSide::request_begins, &BestEffortSide::iteration_begins);
}

void carpool_request_end() {
  declare(&device_of_end, &SloSide::request_ends, &BestEffortSide::iteration_ends);
}

}  // extern "C"

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
