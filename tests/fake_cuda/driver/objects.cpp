// Contexts, streams and events: making, finding and destroying them.
#include <algorithm>

#include "driver.hpp"

namespace fake_cuda {

Context* Driver::make_context(int device, unsigned flags) {
  contexts_.push_back(std::make_unique<Context>());
  Context& context = *contexts_.back();
  context.device = device;
  context.flags = flags;
  context.id = ++ids_;
  context.legacy = make_stream(context, 0, 0);
  context.legacy->legacy = true;
  return &context;
}

bool Driver::knows(const Context* context) const {
  return std::ranges::any_of(
      contexts_, [&](const auto& each) { return each.get() == context && each->alive; });
}

// The object stays: a handle that is used later is recognised as one of a context that is gone.
void Driver::destroy_context(Context& context) {
  context.alive = false;
}

Stream* Driver::make_stream(Context& context, unsigned flags, int priority) {
  context.streams.push_back(std::make_unique<Stream>());
  Stream* stream = context.streams.back().get();
  stream->context = &context;
  stream->flags = flags;
  stream->priority = std::clamp(priority, -5, 0);
  stream->id = ++ids_;
  streams_.insert(stream);
  return stream;
}

Result Driver::destroy_stream(Stream* stream) {
  if (!knows(stream) || stream->legacy) {
    return kInvalidHandle;
  }
  // Its work goes on; the object stays with its context until then, and for good.
  streams_.erase(stream);
  return kSuccess;
}

Stream* Driver::find_stream(Stream* handle, Default meaning) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value > kPerThreadStream) {
    return knows(handle) ? handle : nullptr;
  }
  Context* context = current_context();
  if (context == nullptr) {
    return nullptr;
  }
  if (value == kLegacyStream || (value == 0 && meaning == Default::Legacy)) {
    return context->legacy;
  }
  Stream*& mine = context->per_thread[thread_number()];
  if (mine == nullptr) {
    mine = make_stream(*context, 0, 0);
  }
  return mine;
}

Event* Driver::make_event(unsigned flags) {
  auto* event = new Event;  // NOLINT(cppcoreguidelines-owning-memory): a handle of the caller
  event->flags = flags;
  events_.insert(event);
  return event;
}

Result Driver::destroy_event(Event* event) {
  if (events_.erase(event) == 0) {
    return kInvalidHandle;
  }
  delete event;  // NOLINT(cppcoreguidelines-owning-memory)
  return kSuccess;
}

std::vector<Point> Driver::ends_of(const Context& context) const {
  std::vector<Point> ends;
  for (const auto& stream : context.streams) {
    if (!stream->queue.empty()) {
      ends.push_back(stream->end());
    }
  }
  return ends;
}

}  // namespace fake_cuda
