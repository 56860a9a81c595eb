#include "interpose/library/draining/drained_contexts.hpp"

#include <array>

#include "interpose/library/spin_lock.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

namespace {

struct DrainedContext {
  Handle context = nullptr;
  int primary = -1;
};
constinit SpinLock contexts_lock;                     // NOLINT
constinit std::array<DrainedContext, 64> contexts{};  // NOLINT: with the lock held

// The handle of a primary context outlives it.
bool is_alive(const DrainedContext& made) {
  if (made.primary < 0) {
    return true;
  }
  unsigned flags = 0;
  int active = 0;
  using GetState = Status(int, unsigned*, int*);
  const Status status =
      call_real<GetState>(Symbol::cuDevicePrimaryCtxGetState, made.primary, &flags, &active);
  return status == kSuccess && active != 0;
}

}  // namespace

void add_drained_context(Handle context, int primary) {
  const SpinLock::Holder held(contexts_lock);
  DrainedContext* place = nullptr;
  for (DrainedContext& made : contexts) {
    if (made.context == context) {
      return;
    }
    if (place == nullptr && made.context == nullptr) {
      place = &made;
    }
  }
  if (place != nullptr) {
    *place = {.context = context, .primary = primary};
  }
}

void remove_drained_context(Handle context) {
  const SpinLock::Holder held(contexts_lock);
  for (DrainedContext& made : contexts) {
    if (made.context == context) {
      made = {};
    }
  }
}

void wait_for_drained_contexts() {
  int mode = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED, of this thread
  call_real<Status(int*)>(Symbol::cuThreadExchangeStreamCaptureMode, &mode);
  std::array<DrainedContext, contexts.size()> seen{};
  {
    const SpinLock::Holder held(contexts_lock);
    seen = contexts;
  }
  for (const DrainedContext& made : seen) {
    if (made.context != nullptr && is_alive(made) &&
        call_real<Status(Handle)>(Symbol::cuCtxPushCurrent_v2, made.context) == kSuccess) {
      call_real<Status()>(Symbol::cuCtxSynchronize);
      Handle popped = nullptr;
      call_real<Status(Handle*)>(Symbol::cuCtxPopCurrent_v2, &popped);
    }
  }
}

}  // namespace carpool::interpose
