#include "interpose/library/gating/work_in_flight.hpp"

#include <algorithm>

#include "interpose/library/devices.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

using gate::Nanoseconds;

void WorkInFlight::destroy_event(Batch& batch) {
  if (batch.event != nullptr && !capture_alive()) {
    call_real<Status(Handle)>(Symbol::cuEventDestroy_v2, batch.event);
  }
  batch.event = nullptr;
  batch.context = nullptr;
}

// Events belong to a context.
bool WorkInFlight::has_event(Batch& batch) {
  const Handle context = thread_context();
  if (context == nullptr) {
    return false;
  }
  if (batch.event != nullptr && batch.context == context) {
    return true;
  }
  destroy_event(batch);
  using Create = Status(Handle*, unsigned);
  if (call_real<Create>(Symbol::cuEventCreate, &batch.event, kEventWithoutTime) != kSuccess) {
    batch.event = nullptr;
    return false;
  }
  batch.context = context;
  return true;
}

WorkInFlight::Batch* WorkInFlight::open_batch(StreamKey stream) {
  for (std::size_t step = used_; step > 0; --step) {
    Batch& batch = batches_[(oldest_ + step - 1) % kBatches];
    if (batch.state == State::Open && batch.stream == stream) {
      return &batch;
    }
  }
  return nullptr;
}

const WorkInFlight::Batch* WorkInFlight::oldest() const {
  for (std::size_t step = 0; step < used_; ++step) {
    const Batch& batch = batches_[(oldest_ + step) % kBatches];
    if (batch.state != State::Free) {
      return &batch;
    }
  }
  return nullptr;
}

WorkInFlight::Batch* WorkInFlight::new_batch(StreamKey stream, Nanoseconds now) {
  if (used_ == kBatches) {
    return nullptr;
  }
  Batch& batch = batches_[(oldest_ + used_) % kBatches];
  ++used_;
  ++unfinished_;
  batch.state = State::Open;
  batch.stream = stream;
  batch.commands = 0;
  batch.sms = 0;
  batch.bound = 0;
  batch.expected = 0;
  batch.began = now;
  return &batch;
}

void WorkInFlight::add(const StreamPlace& place, const gate::Work& work, Nanoseconds now) {
  const StreamKey stream = stream_key(place.stream, place.twin);
  Batch* batch = open_batch(stream);
  if (batch == nullptr) {
    batch = new_batch(stream, now);
  }
  if (batch == nullptr) {
    return;
  }
  due_ = std::max(due_, now) + work.bound_ns;
  likely_due_ = std::max(likely_due_, now) + work.expected_ns;
  batch->due = due_;
  batch->bound += work.bound_ns;
  batch->expected += work.expected_ns;
  batch->sms += work.sms;
  ++batch->commands;
  bound_ += work.bound_ns;
  expected_ += work.expected_ns;
  since_drained_ += work.expected_ns;
  sms_ += work.sms;
  ++commands_;
}

void WorkInFlight::mark(const StreamPlace& place, Nanoseconds at_least) {
  Batch* const batch = open_batch(stream_key(place.stream, place.twin));
  if (batch == nullptr || (batch->bound < at_least && batch->commands < kMostCommands) ||
      capture_alive()) {
    return;
  }
  const bool marked =
      has_event(*batch) &&
      call_real<Status(Handle, Handle)>(
          place.twin == Twin::Legacy ? Symbol::cuEventRecord : Symbol::cuEventRecord_ptsz,
          batch->event,
          place.stream) == kSuccess;
  if (marked) {
    batch->state = State::Marked;
  } else {
    done(*batch);  // what cannot be followed does not count
  }
}

void WorkInFlight::done(Batch& batch) {
  bound_ -= std::min(bound_, batch.bound);
  expected_ -= std::min(expected_, batch.expected);
  finished_ += batch.expected;
  sms_ -= std::min(sms_, batch.sms);
  commands_ -= std::min(commands_, batch.commands);
  unfinished_ -= std::min(unfinished_, 1U);
  batch.state = State::Free;
  if (commands_ == 0) {
    bound_ = 0;
    expected_ = 0;
    since_drained_ = 0;
    due_ = 0;
    likely_due_ = 0;
  }
}

void WorkInFlight::reclaim(Nanoseconds now) {
  const std::uint32_t before = unfinished_;
  const Nanoseconds was_running = seen_running_;
  StreamKey waiting = kNoStream;  // its later batches are not done either
  for (std::size_t step = 0; step < used_; ++step) {
    Batch& batch = batches_[(oldest_ + step) % kBatches];
    if (batch.state == State::Open && now >= batch.due + kUnmarkedGrace) {
      done(batch);
    } else if (batch.state == State::Marked && batch.stream != waiting && !capture_alive()) {
      const Status status = call_real<Status(Handle)>(Symbol::cuEventQuery, batch.event);
      if (status == kNotReady) {
        waiting = batch.stream;
        seen_running_ = now;
      } else {
        done(batch);  // or the context is broken
      }
    }
  }
  while (used_ > 0 && batches_[oldest_].state == State::Free) {
    oldest_ = (oldest_ + 1) % kBatches;
    --used_;
  }
  if (unfinished_ < before && unfinished_ > 0) {
    // The rest began when that was done: between the last two looks.
    due_ = std::max(was_running + bound_, std::min(due_, now + bound_));
    likely_due_ = std::max(was_running + expected_, std::min(likely_due_, now + expected_));
  }
}

Nanoseconds WorkInFlight::ends_in(Nanoseconds now) const {
  const Batch* const first = oldest();
  return std::max({Nanoseconds{0}, due_ - now, bound_ - (first == nullptr ? 0 : first->bound)});
}

Nanoseconds WorkInFlight::take_finished() {
  const Nanoseconds finished = finished_;
  finished_ = 0;
  return finished;
}

Nanoseconds WorkInFlight::began() const {
  const Batch* const first = oldest();
  return first == nullptr ? gate::kNever : first->began;
}

void WorkInFlight::forget(Handle context) {
  for (Batch& batch : batches_) {
    if (context != nullptr && batch.event != nullptr && batch.context != context) {
      continue;
    }
    if (batch.state != State::Free) {
      done(batch);
    }
    destroy_event(batch);
  }
}

}  // namespace carpool::interpose
