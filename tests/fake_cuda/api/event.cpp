// Events.
#include "../driver/define.hpp"
#include "../driver/graph.hpp"

namespace fake_cuda {
namespace {

constexpr unsigned kDisableTiming = 2;

bool known_event(Event* event) {
  const Guard guard = Driver::get().lock();
  return Driver::get().knows(event);
}

Result create_event(Event** event, unsigned flags) {
  if (current_context() == nullptr) {
    return kInvalidContext;
  }
  const Guard guard = Driver::get().lock();
  *event = Driver::get().make_event(*current_context(), flags);
  return kSuccess;
}

Result record(Event* event, Stream* stream, Default meaning) {
  return known_event(event) ? submit(stream, meaning, RecordTask{event}) : kInvalidHandle;
}

Result wait_event(Stream* stream, Event* event, Default meaning) {
  return known_event(event) ? submit(stream, meaning, WaitTask{event}) : kInvalidHandle;
}

Result query(Event* event) {
  Driver& driver = Driver::get();
  Guard guard = driver.lock();
  if (!driver.knows(event)) {
    return kInvalidHandle;
  }
  if (const Result result = Captures::get().forbid_for_event(driver, *event); result != kSuccess) {
    return result;
  }
  driver.poll(guard);
  return event->point.reached() ? kSuccess : kNotReady;
}

Result synchronize_event(Event* event) {
  Driver& driver = Driver::get();
  Guard guard = driver.lock();
  if (!driver.knows(event)) {
    return kInvalidHandle;
  }
  if (const Result result = Captures::get().forbid_for_event(driver, *event); result != kSuccess) {
    return result;
  }
  driver.counts().add(Count::synchronizations);
  const Point point = event->point;
  driver.wait_for(guard, point);
  return kSuccess;
}

Result destroy(Event* event) {
  const Guard guard = Driver::get().lock();
  return Driver::get().destroy_event(event);
}

Result elapsed(float* milliseconds, Event* from, Event* to) {
  Driver& driver = Driver::get();
  Guard guard = driver.lock();
  if (!driver.knows(from) || !driver.knows(to) || !from->time || !to->time ||
      ((from->flags | to->flags) & kDisableTiming) != 0) {
    return kInvalidHandle;
  }
  driver.poll(guard);
  if (!from->point.reached() || !to->point.reached()) {
    return kNotReady;
  }
  *milliseconds = static_cast<float>(static_cast<double>(*to->time - *from->time) / 1e6);
  return kSuccess;
}

}  // namespace

FAKE_CUDA_DEFINE(cuEventCreate, (Event * *event, unsigned flags), create_event(event, flags))
FAKE_CUDA_DEFINE(cuEventQuery, (Event * event), query(event))
FAKE_CUDA_DEFINE(cuEventSynchronize, (Event * event), synchronize_event(event))
FAKE_CUDA_DEFINE(cuEventDestroy, (Event * event), destroy(event))
FAKE_CUDA_DEFINE(cuEventDestroy_v2, (Event * event), destroy(event))
FAKE_CUDA_DEFINE(cuEventElapsedTime,
                 (float* milliseconds, Event* from, Event* to),
                 elapsed(milliseconds, from, to))
FAKE_CUDA_DEFINE(cuEventElapsedTime_v2,
                 (float* milliseconds, Event* from, Event* to),
                 elapsed(milliseconds, from, to))
FAKE_CUDA_DEFINE_TWINS(cuEventRecord,
                       _ptsz,
                       (Event * event, Stream* stream),
                       record(event, stream, kDefault))
FAKE_CUDA_DEFINE_TWINS(cuEventRecordWithFlags,
                       _ptsz,
                       (Event * event, Stream* stream, unsigned),
                       record(event, stream, kDefault))
FAKE_CUDA_DEFINE_TWINS(cuStreamWaitEvent,
                       _ptsz,
                       (Stream * stream, Event* event, unsigned),
                       wait_event(stream, event, kDefault))

}  // namespace fake_cuda
