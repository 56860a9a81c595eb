// Wrappers of the functions that make, change and destroy contexts: they decide which GPU the other
// calls of a thread concern. A GPU joins the shared state with its first context.
#include "interpose/library/draining/draining.hpp"
#include "interpose/library/kernel_timing.hpp"
#include "interpose/library/memory/charge.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

// Memory ends with its context.
void give_back_all(std::uint64_t context, int device) {
  for (;;) {
    const Allocation taken = allocations.take_of(context, static_cast<std::int16_t>(device));
    if (taken.kind == AllocationKind::None) {
      return;
    }
    give_back(taken);
  }
}

void context_destroyed(Handle context) {
  if (context != nullptr) {
    give_back_all(reinterpret_cast<std::uintptr_t>(context), 0);
  }
}

// Before the events of the library end with their context. Null: the primary one of the GPU.
void forget_events(Handle context, int number) {
  forget_timing(context, number);
  const auto forget = [](Device& device, Handle ending) { device.gate.best_effort.forget(ending); };
  if (context != nullptr) {
    for_each_device(forget, context);
  } else {
    forget(device_of(number), nullptr);
  }
}

enum class Made : std::uint8_t { Own, Primary };

void context_made(const Handle* context, int device, Status status, Made made) {
  context_changed();
  if (status == kSuccess) {
    static_cast<void>(device_of(device));
    context_to_drain(*context, made == Made::Primary ? device : -1);
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

AFTER(cuCtxSetCurrent, (Handle context), context_changed(), context)
AFTER(cuCtxPushCurrent, (Handle context), context_changed(), context)
AFTER(cuCtxPushCurrent_v2, (Handle context), context_changed(), context)
AFTER(cuCtxPopCurrent, (Handle * context), context_changed(), context)
AFTER(cuCtxPopCurrent_v2, (Handle * context), context_changed(), context)
AFTER(cuCtxCreate,
      (Handle * context, unsigned flags, int device),
      context_made(context, device, status, Made::Own),
      context,
      flags,
      device)
AFTER(cuCtxCreate_v2,
      (Handle * context, unsigned flags, int device),
      context_made(context, device, status, Made::Own),
      context,
      flags,
      device)
AFTER(cuCtxCreate_v3,
      (Handle * context, void* affinity, int count, unsigned flags, int device),
      context_made(context, device, status, Made::Own),
      context,
      affinity,
      count,
      flags,
      device)
AFTER(cuCtxCreate_v4,
      (Handle * context, void* parameters, unsigned flags, int device),
      context_made(context, device, status, Made::Own),
      context,
      parameters,
      flags,
      device)
AFTER(cuDevicePrimaryCtxRetain,
      (Handle * context, int device),
      context_made(context, device, status, Made::Primary),
      context,
      device)

// CONTEXT_END(name, parameter, context or null, GPU, what follows success)
#define CONTEXT_END(NAME, PARAMETER, CONTEXT, DEVICE, FOLLOW) \
  Status NAME(PARAMETER) {                                    \
    const Call call;                                          \
    if (call.counts()) {                                      \
      context_ends(CONTEXT);                                  \
      forget_events(CONTEXT, DEVICE);                         \
    }                                                         \
    const Status status = REAL(NAME, which);                  \
    if (call.counts()) {                                      \
      context_changed();                                      \
      if (status == kSuccess) {                               \
        FOLLOW;                                               \
      }                                                       \
    }                                                         \
    return status;                                            \
  }

#define CONTEXT_DESTROY(NAME) CONTEXT_END(NAME, Handle which, which, -1, context_destroyed(which))
CONTEXT_DESTROY(cuCtxDestroy)
CONTEXT_DESTROY(cuCtxDestroy_v2)

#define PRIMARY_RESET(NAME) CONTEXT_END(NAME, int which, nullptr, which, give_back_all(0, which))
PRIMARY_RESET(cuDevicePrimaryCtxReset)
PRIMARY_RESET(cuDevicePrimaryCtxReset_v2)

// The context may live on for other users of it.
#define PRIMARY_RELEASE(NAME) CONTEXT_END(NAME, int which, nullptr, which, )
PRIMARY_RELEASE(cuDevicePrimaryCtxRelease)
PRIMARY_RELEASE(cuDevicePrimaryCtxRelease_v2)

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
