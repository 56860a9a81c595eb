#include "interpose/library/process.hpp"

#include <cstdlib>
#include <pthread.h>
#include <string_view>

#include "interpose/library/draining/draining.hpp"

namespace carpool::interpose {

constinit std::atomic<bool> process_active{false};    // NOLINT
constinit thread_local std::uint32_t call_depth = 0;  // NOLINT

namespace {

enum class Wanted : std::uint8_t { Unknown, Yes, No };
constinit std::atomic<Wanted> wanted_in_environment{Wanted::Unknown};  // NOLINT

constinit std::atomic<bool> started_once{false};  // NOLINT

// Calls pass from then on, so nothing else that the parent had is used.
void forget_in_child() {
  process_active.store(false, std::memory_order_relaxed);
  forget_draining();
}

}  // namespace

bool shim_wanted() {
  Wanted wanted = wanted_in_environment.load(std::memory_order_relaxed);
  if (wanted == Wanted::Unknown) {
    const char* const told = ::secure_getenv("CARPOOL_SHIM");
    wanted = told != nullptr && std::string_view(told) == "off" ? Wanted::No : Wanted::Yes;
    wanted_in_environment.store(wanted, std::memory_order_relaxed);
  }
  return wanted == Wanted::Yes;
}

void process_started() {
  if (!shim_wanted() || started_once.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  // Without the handler a child would write to the slot of its parent.
  if (::pthread_atfork(nullptr, nullptr, &forget_in_child) == 0) {
    process_active.store(true, std::memory_order_relaxed);
  }
}

}  // namespace carpool::interpose
