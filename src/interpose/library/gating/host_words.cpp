#include "interpose/library/gating/host_words.hpp"

#include <new>
#include <sys/mman.h>

#include "interpose/library/devices.hpp"
#include "interpose/library/real_driver.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

namespace {

constexpr unsigned kPortableMapped = 3;  // CU_MEMHOSTREGISTER_PORTABLE and _DEVICEMAP

// Pages of their own that a fork does not copy, else the GPU would look at those of the child. They
// stay: the GPU may look at them until the process has ended.
void* shared_pages(std::size_t bytes) {
  void* const pages =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

}  // namespace

// A context of which the program has given one of several references back is forgotten, too, and
// still has them.
bool HostWords::register_with(Handle context, void* pages) {
  using Register = Status(void*, std::size_t, unsigned);
  const Status status =
      call_real<Register>(Symbol::cuMemHostRegister_v2, pages, sizeof(Words), kPortableMapped);
  if (status == kSuccess) {
    registered_with_ = context;
  }
  return status == kSuccess || (status == kAlreadyRegistered && context == registered_with_);
}

// The pages are registered with one context at a time; others have no words.
bool HostWords::prepare() {
  const Handle context = thread_context();
  if (context_ != nullptr || context == nullptr) {
    return context != nullptr && context == context_;
  }
  refused_ = true;
  Words* words = words_.load(std::memory_order_relaxed);
  if (!real_has(Symbol::cuStreamWaitValue64_v2) || !real_has(Symbol::cuStreamWriteValue64_v2)) {
    return false;
  }
  if (words == nullptr) {
    void* const pages = shared_pages(sizeof(Words));
    if (pages == nullptr) {
      return false;
    }
    words = ::new (pages) Words{};
  }
  using Find = Status(DevicePointer*, void*, unsigned);
  void* const pages = words->data();
  if (!register_with(context, pages) ||
      call_real<Find>(Symbol::cuMemHostGetDevicePointer_v2, &address_, pages, 0U) != kSuccess) {
    return false;
  }
  words_.store(words, std::memory_order_release);
  context_ = context;
  refused_ = false;
  return true;
}

bool HostWords::wait(const StreamPlace& place,
                     std::size_t number,
                     std::uint64_t value,
                     WordIs compared) {
  if (refused_ || !prepare()) {
    return false;
  }
  const Symbol wait = place.twin == Twin::Legacy ? Symbol::cuStreamWaitValue64_v2
                                                 : Symbol::cuStreamWaitValue64_v2_ptsz;
  using Wait = Status(Handle, DevicePointer, std::uint64_t, unsigned);
  refused_ = call_real<Wait>(
                 wait, place.stream, address_of(number), value, static_cast<unsigned>(compared)) !=
             kSuccess;
  return !refused_;
}

bool HostWords::write(const StreamPlace& place, std::size_t number, std::uint64_t value) {
  if (refused_ || !prepare()) {
    return false;
  }
  const Symbol write = place.twin == Twin::Legacy ? Symbol::cuStreamWriteValue64_v2
                                                  : Symbol::cuStreamWriteValue64_v2_ptsz;
  using Write = Status(Handle, DevicePointer, std::uint64_t, unsigned);
  refused_ = call_real<Write>(write, place.stream, address_of(number), value, 0U) != kSuccess;
  return !refused_;
}

bool HostWords::forget(Handle context) {
  if (context_ == nullptr || (context != nullptr && context != context_)) {
    return false;
  }
  context_ = nullptr;
  address_ = 0;
  return true;
}

}  // namespace carpool::interpose
