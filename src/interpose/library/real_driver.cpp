#include "interpose/library/real_driver.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <dlfcn.h>

#include "interpose/library/driver_path.hpp"

namespace carpool::interpose {

namespace {

constexpr std::array<const char*, kSymbols> kNames{
#define DRIVER_SYMBOL(NAME) #NAME,
#include "interpose/library/driver_symbols.inc"
#undef DRIVER_SYMBOL
};

Status no_device() {
  return kNoDevice;
}
Status not_supported() {
  return kNotSupported;
}

// No lock is held while the driver is opened: a thread that opens another library may run
// constructors that call CUDA, with the loader's lock taken. Threads that race open the same file
// and get the same handle.
constinit std::atomic<void*> driver_handle{nullptr};  // NOLINT: shared by all threads
constinit std::atomic<bool> driver_missing{false};    // NOLINT

void* open_real_driver() {
  void* handle = driver_handle.load(std::memory_order_acquire);
  if (handle != nullptr || driver_missing.load(std::memory_order_relaxed)) {
    return handle;
  }
  PathText path{};
  if (find_driver_path(path)) {
    handle = ::dlopen(path.data(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    driver_missing.store(true, std::memory_order_relaxed);
  } else {
    driver_handle.store(handle, std::memory_order_release);
  }
  return handle;
}

}  // namespace

void* find_real(Symbol symbol) {
  const int error = errno;
  void* const handle = open_real_driver();
  void* const found =
      handle == nullptr ? nullptr : ::dlsym(handle, kNames[static_cast<std::uint32_t>(symbol)]);
  errno = error;
  return found;
}

// Called by the trampolines, see trampolines.cpp.
extern "C" void* carpool_resolve_symbol(std::uint32_t number);   // NOLINT
extern "C" void* carpool_resolve_symbol(std::uint32_t number) {  // NOLINT
  void* function = find_real(static_cast<Symbol>(number));
  if (function == nullptr) {
    function = reinterpret_cast<void*>(
        driver_missing.load(std::memory_order_relaxed) ? &no_device : &not_supported);
  }
  __atomic_store_n(&carpool_driver_slots[number], function, __ATOMIC_RELAXED);
  return function;
}

}  // namespace carpool::interpose
