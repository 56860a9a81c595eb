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
    // NOLINTBEGIN(bugprone-macro-parentheses,cppcoreguidelines-avoid-c-arrays,modernize-avoid-c-arrays)
    static const WrappedCall wrapped[] = {
#define DRIVER_CALL(NAME, TYPES) {Symbol::NAME, reinterpret_cast<void*>(&NAME)},
#include "interpose/library/driver_calls.inc"
#undef DRIVER_CALL
#define DRIVER_COPY(NAME, PARAMETERS, ARGUMENTS, COUNT) \
  {Symbol::NAME, reinterpret_cast<void*>(&NAME)},
#include "interpose/library/copy_calls.inc"
#undef DRIVER_COPY
    };
    // NOLINTEND(bugprone-macro-parentheses,cppcoreguidelines-avoid-c-arrays,modernize-avoid-c-arrays)
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

bool driver_has_status() {
  enum class Has : std::uint8_t { Unknown, Yes, No };
  static constinit std::atomic<Has> known{Has::Unknown};
  Has has = known.load(std::memory_order_relaxed);
  if (has == Has::Unknown) {
    // Without any driver, the call tells so.
    has = real_has(Symbol::cuGetProcAddress_v2) || !real_has(Symbol::cuGetProcAddress) ? Has::Yes
                                                                                       : Has::No;
    known.store(has, std::memory_order_relaxed);
  }
  return has == Has::Yes;
}

// The driver has answered `function`; what the program gets.
void replace_by_wrapper(const char* name, int version, void** function) {
  if (function == nullptr || *function == nullptr || name == nullptr || *name == '\0' ||
      !shim_wanted()) {
    return;
  }
  if (std::strcmp(name, "cuGetProcAddress") == 0) {
    // Programs must not get past the wrappers, even if the driver hides this function's address,
    // and must not get the first version where they expect the second, even if the driver has none.
    constexpr int kFirstWithStatus = 12000;
    *function = version < kFirstWithStatus ? reinterpret_cast<void*>(&cuGetProcAddress)
                                           : reinterpret_cast<void*>(&cuGetProcAddress_v2);
  } else if (void* const wrapper = routes.wrapper_of(*function)) {
    *function = wrapper;
  }
}

// The answer of a driver before CUDA 12, which has no cuGetProcAddress_v2, in the form of that.
Status look_up_by_v1(
    const char* name, void** function, int version, std::uint64_t flags, int* answer) {
  constexpr int kFound = 0;
  constexpr int kSymbolNotFound = 1;
  const Status status = REAL(cuGetProcAddress, name, function, version, flags);
  if (status != kSuccess && status != kNotFound) {
    return status;
  }
  if (answer != nullptr) {
    *answer = status == kSuccess ? kFound : kSymbolNotFound;
  }
  if (function != nullptr && status == kNotFound) {
    *function = nullptr;
  }
  return kSuccess;
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
  const Status status = driver_has_status()
                            ? REAL(cuGetProcAddress_v2, name, function, version, flags, answer)
                            : look_up_by_v1(name, function, version, flags, answer);
  if (status == kSuccess) {
    replace_by_wrapper(name, version, function);
  }
  return status;
}

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
