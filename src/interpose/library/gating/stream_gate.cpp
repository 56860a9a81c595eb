#include "interpose/library/gating/stream_gate.hpp"

#include <new>
#include <sys/mman.h>

#include "interpose/library/devices.hpp"
#include "interpose/library/real_driver.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

namespace {

constexpr unsigned kWaitForEqual = 1;    // CU_STREAM_WAIT_VALUE_EQ
constexpr unsigned kPortableMapped = 3;  // CU_MEMHOSTREGISTER_PORTABLE and _DEVICEMAP

// A page of its own that a fork does not copy, else the GPU would look at that of the child. It
// stays: the GPU may look at it until the process has ended.
void* shared_page() {
  void* const page =
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : page;
}

}  // namespace

// The page is registered with one context at a time; others have no gates.
bool StreamGate::prepare() {
  const Handle context = thread_context();
  if (context_ != nullptr || context == nullptr) {
    return context != nullptr && context == context_;
  }
  refused_ = true;
  Word* word = word_.load(std::memory_order_relaxed);
  if (!real_has(Symbol::cuStreamWaitValue64_v2)) {
    return false;
  }
  if (word == nullptr) {
    void* const page = shared_page();
    if (page == nullptr) {
      return false;
    }
    word = ::new (page) Word(kClosed);  // until the keeper looks
  }
  using Register = Status(void*, std::size_t, unsigned);
  using Find = Status(DevicePointer*, void*, unsigned);
  if (call_real<Register>(
          Symbol::cuMemHostRegister_v2, static_cast<void*>(word), kPage, kPortableMapped) !=
          kSuccess ||
      call_real<Find>(
          Symbol::cuMemHostGetDevicePointer_v2, &address_, static_cast<void*>(word), 0U) !=
          kSuccess) {
    return false;
  }
  word_.store(word, std::memory_order_release);
  context_ = context;
  refused_ = false;
  return true;
}

bool StreamGate::put(const StreamPlace& place) {
  if (refused_ || !prepare()) {
    return false;
  }
  const Symbol wait = place.twin == Twin::Legacy ? Symbol::cuStreamWaitValue64_v2
                                                 : Symbol::cuStreamWaitValue64_v2_ptsz;
  using Wait = Status(Handle, DevicePointer, std::uint64_t, unsigned);
  refused_ = call_real<Wait>(wait, place.stream, address_, kOpen, kWaitForEqual) != kSuccess;
  return !refused_;
}

void StreamGate::forget(Handle context) {
  if (context_ != nullptr && (context == nullptr || context == context_)) {
    context_ = nullptr;
    address_ = 0;
  }
}

}  // namespace carpool::interpose
