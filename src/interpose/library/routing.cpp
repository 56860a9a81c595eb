// cuInit and cuGetProcAddress. The real driver decides which function a name, a version and flags
// mean; the answer is replaced by the wrapper of exactly that function.
#include <array>
#include <atomic>
#include <cstring>

#include "interpose/library/process.hpp"
#include "interpose/library/real_driver.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

struct WrappedCall {
  Symbol symbol;
  void* wrapper;
};

// Addresses of the real driver with their wrappers: open addressing, filled by the first look-up.
class RouteTable {
 public:
  constexpr RouteTable() = default;

  [[nodiscard]] void* wrapper_of(void* function) {
    if (!complete_.load(std::memory_order_acquire)) {
      fill();
    }
    for (std::size_t i = start_of(function);
         routes_[i].function.load(std::memory_order_relaxed) != nullptr;
         i = (i + 1) % kRoutes) {
      if (routes_[i].function.load(std::memory_order_relaxed) == function) {
        return routes_[i].wrapper.load(std::memory_order_relaxed);
      }
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kRoutes = 1024;  // several times the number of wrappers
  struct Route {
    std::atomic<void*> function;
    std::atomic<void*> wrapper;
  };

  static std::size_t start_of(void* function) {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
    return (reinterpret_cast<std::uintptr_t>(function) * kSpread >> 40U) % kRoutes;
  }

  // Threads may fill at the same time: all of them write the same.
  void fill() {
    static const WrappedCall wrapped[] = {
    // NOLINT
#define DRIVER_CALL(NAME, TYPES) {Symbol::NAME, reinterpret_cast<void*>(&NAME)},
#include "interpose/library/driver_calls.inc"
#undef DRIVER_CALL
#define DRIVER_COPY(NAME, PARAMETERS, ARGUMENTS, COUNT) \
  {Symbol::NAME, reinterpret_cast<void*>(&NAME)},
#include "interpose/library/copy_calls.inc"
#undef DRIVER_COPY
    };
    static_assert(sizeof wrapped / sizeof wrapped[0] < kRoutes / 2);
    for (const WrappedCall& call : wrapped) {
      void* const function = find_real(call.symbol);
      if (function != nullptr) {
        insert(function, call.wrapper);
      }
    }
    complete_.store(true, std::memory_order_release);
  }

  void insert(void* function, void* wrapper) {
    for (std::size_t i = start_of(function);; i = (i + 1) % kRoutes) {
      void* there = nullptr;
      // Of two names with one address the first wrapper is as good as the second.
      if (routes_[i].function.compare_exchange_strong(there, function)) {
        routes_[i].wrapper.store(wrapper);
        return;
      }
      if (there == function) {
        return;
      }
    }
  }

  std::array<Route, kRoutes> routes_{};
  std::atomic<bool> complete_{false};
};

constinit RouteTable routes;  // NOLINT: shared by all threads

// The driver has answered `function`; what the program gets.
void replace_by_wrapper(const char* name, int version, void** function) {
  if (function == nullptr || *function == nullptr || name == nullptr || *name == '\0' ||
      !shim_wanted()) {
    return;
  }
  if (void* const wrapper = routes.wrapper_of(*function)) {
    *function = wrapper;
  } else if (std::strcmp(name, "cuGetProcAddress") == 0) {
    // Programs must not get past the wrappers, even if the driver hides this function's address.
    constexpr int kFirstWithStatus = 12000;
    *function = version < kFirstWithStatus ? reinterpret_cast<void*>(&cuGetProcAddress)
                                           : reinterpret_cast<void*>(&cuGetProcAddress_v2);
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

Status cuInit(unsigned flags) {
  const Call call;
  const Status status = REAL(cuInit, flags);
  if (status == kSuccess) {
    process_started();
  }
  return status;
}

Status cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  const Status status = REAL(cuGetProcAddress, name, function, version, flags);
  if (status == kSuccess) {
    replace_by_wrapper(name, version, function);
  }
  return status;
}

Status cuGetProcAddress_v2(
    const char* name, void** function, int version, std::uint64_t flags, int* answer) {
  const Status status = REAL(cuGetProcAddress_v2, name, function, version, flags, answer);
  if (status == kSuccess) {
    replace_by_wrapper(name, version, function);
  }
  return status;
}

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
