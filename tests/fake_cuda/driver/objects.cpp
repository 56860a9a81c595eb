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

GreenContext* Driver::make_green_context(int device, std::uint32_t sms) {
  Context* context = make_context(device, 0);
  context->green = std::make_unique<GreenContext>(context, sms);
  return context->green.get();
}

bool Driver::knows(const GreenContext* green) const {
  return green != nullptr && std::ranges::any_of(contexts_, [&](const auto& each) {
           return each->green.get() == green && each->alive;
         });
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
  if (stream->context->gone()) {
    return kContextDestroyed;
  }
  // Its work goes on; the object stays with its context until then, and for good.
  streams_.erase(stream);
  return kSuccess;
}

Stream* Driver::find_stream(Stream* handle, Default meaning) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value > kPerThreadStream) {
    return knows(handle) && !handle->context->gone() ? handle : nullptr;
  }
  Context* context = current_context();
  if (context == nullptr || context->gone()) {
    return nullptr;
  }
  if (value == kLegacyStream || (value == 0 && meaning == Default::Legacy)) {
    return context->legacy;
  }
  if (context->green) {
    return nullptr;  // it has none of threads
  }
  Stream*& mine = context->per_thread[thread_number()];
  if (mine == nullptr) {
    mine = make_stream(*context, 0, 0);
  }
  return mine;
}

Result Driver::why_no_stream(Stream* handle) const {
  const Context* context = knows(handle) ? handle->context : current_context();
  if (context == nullptr) {
    return kInvalidContext;
  }
  return context->gone() ? kContextDestroyed : kInvalidHandle;
}

Event* Driver::make_event(Context& context, unsigned flags) {
  auto* event = new Event;  // NOLINT(cppcoreguidelines-owning-memory): a handle of the caller
  event->context = &context;
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
  for (const auto& each : contexts_) {
    if (!context.covers(*each)) {
      continue;
    }
    for (const auto& stream : each->streams) {
      if (!stream->queue.empty()) {
        ends.push_back(stream->end());
      }
    }
  }
  return ends;
}

}  // namespace fake_cuda
