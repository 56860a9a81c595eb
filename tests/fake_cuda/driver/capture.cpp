// What a capture allows. A call that it forbids breaks it: the call fails, and so do all later ones
// until the capture is ended.
#include <algorithm>

#include "graph.hpp"
#include "unsafe.hpp"

namespace fake_cuda {
namespace {

// The nodes that a node comes after, itself included.
void gather(Node* node, std::set<Node*>& seen) {
  if (seen.insert(node).second) {
    for (Node* other : node->after) {
      gather(other, seen);
    }
  }
}

bool rejoined(const Capture& capture) {
  std::set<Node*> before;
  for (Node* node : capture.origin->tail) {
    gather(node, before);
  }
  return std::ranges::all_of(capture.joined, [&](const Stream* stream) {
    return std::ranges::all_of(stream->tail, [&](Node* node) { return before.contains(node); });
  });
}

}  // namespace

int& thread_capture_mode() {
  static thread_local int mode = kCaptureGlobal;
  return mode;
}

Captures& Captures::get() {
  static Captures* const captures = new Captures;  // NOLINT(cppcoreguidelines-owning-memory)
  return *captures;
}

void Captures::break_capture(Driver& driver, Capture& capture) {
  capture.broken = true;
  driver.counts().add(Count::capture_violations);
}

Result Captures::begin(
    Driver& driver, Stream& stream, int mode, Graph* graph, std::vector<Node*> after) {
  if (mode < kCaptureGlobal || mode > kCaptureRelaxed) {
    return kInvalidValue;
  }
  if (stream.legacy) {
    return kCaptureUnsupported;
  }
  if (stream.capture) {
    return kIllegalState;
  }
  auto capture = std::make_shared<Capture>();
  capture->id = ++ids_;
  capture->mode = mode;
  capture->thread = thread_number();
  capture->origin = &stream;
  capture->graph = graph == nullptr ? std::make_shared<Graph>() : Graphs::get().find(graph);
  if (!capture->graph) {
    return kInvalidValue;
  }
  stream.capture = capture;
  stream.tail = std::move(after);
  active_.push_back(std::move(capture));
  driver.counts().add(Count::captures);
  return kSuccess;
}

void Captures::forget(const std::shared_ptr<Capture>& capture) {
  capture->over = true;
  for (Stream* stream : capture->joined) {
    stream->capture = nullptr;
    stream->tail.clear();
  }
  capture->origin->capture = nullptr;
  capture->origin->tail.clear();
  std::erase(active_, capture);
}

Result Captures::end(Driver& driver, Stream& stream, Graph** graph) {
  const std::shared_ptr<Capture> capture = stream.capture;
  *graph = nullptr;
  if (!capture) {
    return kIllegalState;
  }
  if (capture->origin != &stream) {
    break_capture(driver, *capture);
    return kCaptureUnmatched;
  }
  if (capture->mode != kCaptureRelaxed && capture->thread != thread_number()) {
    return kCaptureWrongThread;
  }
  const bool whole = rejoined(*capture);
  forget(capture);
  if (capture->broken) {
    return kCaptureInvalidated;
  }
  if (!whole) {
    return kCaptureUnjoined;
  }
  *graph = Graphs::get().add(capture->graph);
  return kSuccess;
}

Result Captures::forbid(Driver& driver) {
  const int mode = thread_capture_mode();
  if (mode == kCaptureRelaxed) {
    return kSuccess;
  }
  Result result = kSuccess;
  for (const auto& capture : active_) {
    const bool mine = capture->thread == thread_number() && capture->mode != kCaptureRelaxed;
    if (mine || (mode == kCaptureGlobal && capture->mode == kCaptureGlobal)) {
      break_capture(driver, *capture);
      result = kCaptureUnsupported;
    }
  }
  return result;
}

Result Captures::forbid_for_stream(Driver& driver, Stream& stream) {
  if (stream.capture) {
    break_capture(driver, *stream.capture);
    return kCaptureUnsupported;
  }
  if (stream.legacy) {
    if (const Result result = break_blocking(driver, *stream.context); result != kSuccess) {
      return result;
    }
  }
  return forbid(driver);
}

Result Captures::forbid_for_event(Driver& driver, const Event& event) {
  if (event.capture && !event.capture->over) {
    break_capture(driver, *event.capture);
    return kCapturedEvent;
  }
  return event.capture ? kCapturedEvent : forbid(driver);
}

Result Captures::break_those_of(Driver& driver, const Context& context) {
  Result result = kSuccess;
  for (const auto& capture : active_) {
    const auto inside = [&](const Stream* stream) { return context.covers(*stream->context); };
    if (inside(capture->origin) || std::ranges::any_of(capture->joined, inside)) {
      break_capture(driver, *capture);
      result = kCaptureUnsupported;
    }
  }
  return result;
}

Result Captures::forbid_for_context(Driver& driver, const Context& context) {
  const Result result = break_those_of(driver, context);
  return result != kSuccess ? result : forbid(driver);
}

Result Captures::wait_outside(Driver& driver, const Context& context, const Event& event) {
  if (event.capture && !event.capture->over) {
    break_capture(driver, *event.capture);
    return kCaptureUnsupported;
  }
  return event.capture ? kCapturedEvent : break_those_of(driver, context);
}

// The legacy default stream would wait for streams that are being captured.
Result Captures::break_blocking(Driver& driver, const Context& context) {
  Result result = kSuccess;
  for (const auto& stream : context.streams) {
    if (stream->capture && (stream->flags & kNonBlocking) == 0) {
      break_capture(driver, *stream->capture);
      result = kCaptureImplicit;
    }
  }
  return result;
}

// The first event of a capture that a stream waits for makes it part of the capture.
bool Captures::wait_event(Driver& driver, Stream& stream, const WaitTask& task, Result& result) {
  const std::shared_ptr<Capture>& theirs = task.event->capture;
  if (!theirs && !stream.capture) {
    return false;
  }
  if (theirs && theirs->over) {
    result = kCapturedEvent;
  } else if (!theirs) {
    break_capture(driver, *stream.capture);
    result = kCaptureIsolation;
  } else if (stream.capture && stream.capture != theirs) {
    break_capture(driver, *stream.capture);
    break_capture(driver, *theirs);
    result = kCaptureMerge;
  } else if (stream.legacy) {
    break_capture(driver, *theirs);
    result = kCaptureImplicit;
  } else {
    if (!stream.capture) {
      stream.capture = theirs;
      theirs->joined.insert(&stream);
    }
    stream.tail.insert(stream.tail.end(), task.event->captured.begin(), task.event->captured.end());
    result = kSuccess;
  }
  return true;
}

bool Captures::intercept(
    Driver& driver, Stream& stream, const Task& task, Wait wait, Result& result) {
  if (active_.empty() && !std::holds_alternative<WaitTask>(task)) {
    if (const auto* record = std::get_if<RecordTask>(&task); record != nullptr) {
      record->event->capture = nullptr;
    }
    return false;
  }
  if (stream.capture && stream.capture->broken) {
    result = kCaptureInvalidated;
    return true;
  }
  if (const auto* waiting = std::get_if<WaitTask>(&task); waiting != nullptr) {
    return wait_event(driver, stream, *waiting, result);
  }
  if (!stream.capture) {
    result = stream.legacy ? break_blocking(driver, *stream.context) : kSuccess;
    if (result == kSuccess && wait == Wait::Yes) {
      result = forbid(driver);
    }
    if (const auto* record = std::get_if<RecordTask>(&task);
        record != nullptr && result == kSuccess) {
      record->event->capture = nullptr;
    }
    return result != kSuccess;
  }
  if (wait == Wait::Yes || std::holds_alternative<CallbackTask>(task)) {
    break_capture(driver, *stream.capture);
    result = kCaptureUnsupported;
    return true;
  }
  if (const auto* record = std::get_if<RecordTask>(&task); record != nullptr) {
    record->event->capture = stream.capture;
    record->event->captured = stream.tail;
  } else {
    stream.tail = {stream.capture->graph->add(task, stream.tail)};
    driver.counts().add(Count::captured_nodes);
  }
  result = kSuccess;
  return true;
}

void Captures::leave(Driver& driver, Stream& stream) {
  if (stream.capture) {
    const std::shared_ptr<Capture> capture = stream.capture;
    break_capture(driver, *capture);
    if (capture->origin == &stream) {
      forget(capture);
    } else {
      capture->joined.erase(&stream);
      stream.capture = nullptr;
    }
  }
}

Result forbid_in_capture(Driver& driver) {
  return Captures::get().forbid(driver);
}

}  // namespace fake_cuda
