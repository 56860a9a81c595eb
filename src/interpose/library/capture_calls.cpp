// Wrappers of the functions by which streams enter and leave a capture. They pass every call on and
// only follow it.
#include "interpose/library/captures.hpp"
#include "interpose/library/graphs.hpp"
#include "interpose/library/launch_ticket.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

// Best-effort processes follow events on a GPU that has an SLO client, SLO processes always: that
// calls nothing of the driver, which a capture of another thread would forbid.
void recorded(Handle event, const StreamPlace& place, Status status) {
  const StreamKey stream = stream_key(place.stream, place.twin);
  event_recorded(event, stream);
  if (status != kSuccess) {
    return;
  }
  Device& device = current_device();
  if (device.gate.side == GateSide::Slo) {
    if (!is_captured(stream)) {
      device.gate.slo.recorded(device.client, event, stream);
    }
  } else if (!capture_alive() && asks(device)) {
    device.gate.best_effort.event_recorded(event, place);
  }
}

void waits(Handle event, const StreamPlace& place) {
  if (capture_alive()) {
    return;
  }
  Device& device = current_device();
  if (asks(device)) {
    device.gate.best_effort.stream_waits(event, place);
  } else if (device.gate.side == GateSide::Slo) {
    device.gate.slo.order().joined(stream_key(place.stream, place.twin), event);
  }
}

void destroyed(Handle stream) {
  stream_destroyed(stream_key(stream, Twin::Legacy));
  Device& device = current_device();
  if (device.gate.side == GateSide::Slo) {
    device.gate.slo.order().stream_destroyed(stream_key(stream, Twin::Legacy));
  }
}

void event_destroyed(Handle event) {
  Device& device = current_device();
  if (device.gate.side == GateSide::Slo) {
    device.gate.slo.order().event_destroyed(event);
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

#define CAPTURE_BEGIN(NAME, TWIN, PARAMETERS, ...)         \
  Status NAME PARAMETERS {                                 \
    const Call call;                                       \
    if (!call.counts()) {                                  \
      return REAL(NAME, __VA_ARGS__);                      \
    }                                                      \
    capture_begins();                                      \
    const Status status = REAL(NAME, __VA_ARGS__);         \
    capture_began(stream_key(stream, Twin::TWIN), status); \
    return status;                                         \
  }

CAPTURE_BEGIN(cuStreamBeginCapture, Legacy, (Handle stream), stream)
CAPTURE_BEGIN(cuStreamBeginCapture_ptsz, PerThread, (Handle stream), stream)
CAPTURE_BEGIN(cuStreamBeginCapture_v2, Legacy, (Handle stream, int mode), stream, mode)
CAPTURE_BEGIN(cuStreamBeginCapture_v2_ptsz, PerThread, (Handle stream, int mode), stream, mode)

#define CAPTURE_TO_GRAPH(NAME, TWIN)         \
  CAPTURE_BEGIN(NAME,                        \
                TWIN,                        \
                (Handle stream,              \
                 Handle graph,               \
                 const Handle* dependencies, \
                 const void* edges,          \
                 std::size_t count,          \
                 int mode),                  \
                stream,                      \
                graph,                       \
                dependencies,                \
                edges,                       \
                count,                       \
                mode)
CAPTURE_TO_GRAPH(cuStreamBeginCaptureToGraph, Legacy)
CAPTURE_TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz, PerThread)

#define CAPTURE_END(NAME, TWIN)                                                            \
  AFTER(                                                                                   \
      NAME,                                                                                \
      (Handle stream, Handle * graph),                                                     \
      const std::uint64_t kernels = capture_ended(stream_key(stream, Twin::TWIN), status); \
      if (status == kSuccess && graph != nullptr) { graph_captured(*graph, kernels); },    \
      stream,                                                                              \
      graph)
CAPTURE_END(cuStreamEndCapture, Legacy)
CAPTURE_END(cuStreamEndCapture_ptsz, PerThread)

AFTER(cuStreamDestroy, (Handle stream), destroyed(stream), stream)
AFTER(cuStreamDestroy_v2, (Handle stream), destroyed(stream), stream)
AFTER(cuEventDestroy, (Handle event), event_destroyed(event), event)
AFTER(cuEventDestroy_v2, (Handle event), event_destroyed(event), event)

#define EVENT_RECORD(NAME, TWIN)                       \
  AFTER(NAME,                                          \
        (Handle event, Handle stream),                 \
        recorded(event, {stream, Twin::TWIN}, status), \
        event,                                         \
        stream)
EVENT_RECORD(cuEventRecord, Legacy)
EVENT_RECORD(cuEventRecord_ptsz, PerThread)

#define EVENT_RECORD_FLAGS(NAME, TWIN)                 \
  AFTER(NAME,                                          \
        (Handle event, Handle stream, unsigned flags), \
        recorded(event, {stream, Twin::TWIN}, status), \
        event,                                         \
        stream,                                        \
        flags)
EVENT_RECORD_FLAGS(cuEventRecordWithFlags, Legacy)
EVENT_RECORD_FLAGS(cuEventRecordWithFlags_ptsz, PerThread)

#define EVENT_WAIT(NAME, TWIN)                               \
  Status NAME(Handle stream, Handle event, unsigned flags) { \
    const Call call;                                         \
    if (call.counts()) {                                     \
      waits(event, {stream, Twin::TWIN});                    \
    }                                                        \
    const Status status = REAL(NAME, stream, event, flags);  \
    if (call.counts()) {                                     \
      event_awaited(event, stream_key(stream, Twin::TWIN));  \
    }                                                        \
    return status;                                           \
  }
EVENT_WAIT(cuStreamWaitEvent, Legacy)
EVENT_WAIT(cuStreamWaitEvent_ptsz, PerThread)

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
