// Green contexts: contexts that have a part of the multiprocessors of a device.
#include "../driver/define.hpp"
#include "../driver/graph.hpp"
#include "../driver/primary.hpp"
#include "../driver/resources.hpp"
#include "../driver/unsafe.hpp"

namespace fake_cuda {
namespace {

// Calls the function under the lock if the driver knows the green context.
template <class Use>
Result with_green(GreenContext* green, const Use& use) {
  Driver& driver = Driver::get();
  Guard guard = driver.lock();
  return driver.knows(green) ? use(driver, guard, *green->context) : kInvalidContext;
}

Result create(GreenContext** green, ResourceDescriptor* descriptor, int device, unsigned flags) {
  Driver& driver = Driver::get();
  if (device < 0 || device >= driver.gpus()) {
    return kInvalidDevice;
  }
  if (green == nullptr || flags != kGreenDefaultStream || !Descriptors::get().knows(descriptor) ||
      descriptor->device != device) {
    return kInvalidValue;
  }
  {
    const Guard guard = driver.lock();
    if (const Result result = forbid_in_capture(driver); result != kSuccess) {
      return result;
    }
  }
  Context* primary = nullptr;
  if (const Result result = retain_primary(&primary, device); result != kSuccess) {
    return result;
  }
  const Guard guard = driver.lock();
  *green = driver.make_green_context(device, descriptor->sms);
  return kSuccess;
}

Result destroy(GreenContext* green) {
  const Result result = with_green(green, [](Driver& driver, Guard& guard, Context& context) {
    driver.wait_for(guard, driver.ends_of(context));
    driver.destroy_context(context);
    return kSuccess;
  });
  return result != kSuccess ? result : release_primary(green->context->device, false);
}

Result convert(Context** context, GreenContext* green) {
  if (context == nullptr) {
    return kInvalidValue;
  }
  return with_green(green, [&](Driver&, Guard&, Context& own) {
    *context = &own;
    return kSuccess;
  });
}

Result create_stream(Stream** stream, GreenContext* green, unsigned flags, int priority) {
  if (stream == nullptr || flags != kNonBlocking) {
    return kInvalidValue;
  }
  return with_green(green, [&](Driver& driver, Guard&, Context& context) {
    *stream = driver.make_stream(context, flags, priority);
    return kSuccess;
  });
}

Result green_of(Stream* handle, GreenContext** green) {
  Driver& driver = Driver::get();
  const Guard guard = driver.lock();
  const Stream* stream = driver.find_stream(handle, Default::Legacy);
  if (stream == nullptr) {
    return driver.why_no_stream(handle);
  }
  *green = stream->context->green.get();
  return kSuccess;
}

// The event comes after all that the streams hold now, in a stream of its own.
Result record(GreenContext* green, Event* event) {
  return with_green(green, [&](Driver& driver, Guard& guard, Context& context) {
    if (!driver.knows(event) || !driver.primary(context.device).covers(*event->context)) {
      return kInvalidHandle;
    }
    if (const Result result = Captures::get().break_those_of(driver, context); result != kSuccess) {
      return result;
    }
    if (context.recorder == nullptr) {
      context.recorder = driver.make_stream(context, kNonBlocking, 0);
    }
    event->capture = nullptr;
    Operation operation = operation_of(driver, *context.recorder, RecordTask{event}, false);
    operation.after = driver.ends_of(context);
    driver.enqueue(guard, *context.recorder, std::move(operation));
    return kSuccess;
  });
}

Result wait(GreenContext* green, Event* event) {
  return with_green(green, [&](Driver& driver, Guard&, Context& context) {
    if (!driver.knows(event)) {
      return kInvalidHandle;
    }
    const Result result = Captures::get().wait_outside(driver, context, *event);
    if (result == kSuccess) {
      context.gates.push_back(event->point);
    }
    return result;
  });
}

Result id_of(GreenContext* green, unsigned long long* id) {
  if (green == nullptr && current_context() != nullptr) {
    green = current_context()->green.get();
  }
  return with_green(green, [&](Driver&, Guard&, const Context& context) {
    *id = context.id;
    return kSuccess;
  });
}

}  // namespace

FAKE_CUDA_DEFINE(
    cuGreenCtxCreate,
    (GreenContext * *green, ResourceDescriptor* descriptor, int device, unsigned flags),
    create(green, descriptor, device, flags))
FAKE_CUDA_DEFINE(cuGreenCtxDestroy, (GreenContext * green), destroy(green))
FAKE_CUDA_DEFINE(cuCtxFromGreenCtx,
                 (Context * *context, GreenContext* green),
                 convert(context, green))
FAKE_CUDA_DEFINE(cuGreenCtxStreamCreate,
                 (Stream * *stream, GreenContext* green, unsigned flags, int priority),
                 create_stream(stream, green, flags, priority))
FAKE_CUDA_DEFINE(cuStreamGetGreenCtx,
                 (Stream * stream, GreenContext** green),
                 green_of(stream, green))
FAKE_CUDA_DEFINE(cuGreenCtxRecordEvent, (GreenContext * green, Event* event), record(green, event))
FAKE_CUDA_DEFINE(cuGreenCtxWaitEvent, (GreenContext * green, Event* event), wait(green, event))
FAKE_CUDA_DEFINE(cuGreenCtxGetId, (GreenContext * green, unsigned long long* id), id_of(green, id))

}  // namespace fake_cuda
