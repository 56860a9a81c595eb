#include "gpu/cupti/inject/window/subscription.hpp"

#include <atomic>
#include <chrono>

#include "base/clock.hpp"

namespace carpool::gpu::inject {
namespace {

enum class Detach : std::uint32_t { No, Wanted, Begun, Done };

// What the callback needs. It may run until CUPTI has returned from the end of the subscription.
struct CallState {
  LaunchCount count;
  std::atomic<Detach> detach{Detach::No};
  std::atomic<cupti::Subscriber> subscriber{nullptr};
  std::atomic<const CuptiFunctions*> functions{nullptr};
};

CallState& call_state() {
  static auto* const state = new CallState;
  return *state;
}

// In a thread of the program, at the end of a call. Only one of several threads does it.
void detach_here(CallState& state) {
  Detach wanted = Detach::Wanted;
  if (!state.detach.compare_exchange_strong(wanted, Detach::Begun)) {
    return;
  }
  const CuptiFunctions& functions = *state.functions.load();
  (void)functions.unsubscribe(state.subscriber.load());
  (void)functions.finalize();
  state.detach = Detach::Done;
}

void on_call(void* /*user*/, std::uint32_t /*domain*/, std::uint32_t id, const void* data) {
  CallState& state = call_state();
  if (static_cast<const cupti::CallbackData*>(data)->site == cupti::kCallEntered) {
    state.count.launch(monotonic_ns(), cupti::is_graph_launch(id));
  } else if (state.detach.load(std::memory_order_relaxed) == Detach::Wanted) {
    detach_here(state);
  }
}

}  // namespace

LaunchCount& launch_count() {
  return call_state().count;
}

Subscription::Subscription(const CuptiFunctions& functions) : functions_(functions) {
  code_ = functions_.subscribe(&subscriber_, &on_call, nullptr);
  CallState& state = call_state();
  state.detach = Detach::No;
  state.subscriber = subscriber_;
  state.functions = &functions_;
}

Subscription::~Subscription() {
  give_up_detaching();
  if (code_ == cupti::kSuccess && call_state().detach.load() != Detach::Done) {
    (void)enable(false);
    (void)functions_.unsubscribe(subscriber_);
  }
}

cupti::Code Subscription::listen() {
  return enable(true);
}

// A call that this driver does not have cannot be made, either: only the first one counts.
cupti::Code Subscription::enable(bool on) {
  cupti::Code first = cupti::kSuccess;
  for (const std::uint32_t call : cupti::kLaunchCalls) {
    const cupti::Code code =
        functions_.enable_callback(on ? 1U : 0U, subscriber_, cupti::kDriverApi, call);
    first = call == cupti::kLaunchCalls.front() ? code : first;
  }
  return first;
}

bool Subscription::detached() {
  Detach not_asked = Detach::No;
  (void)call_state().detach.compare_exchange_strong(not_asked, Detach::Wanted);
  return call_state().detach.load() == Detach::Done;
}

// A thread of the program that has begun to detach is waited for.
void Subscription::give_up_detaching() {
  constexpr std::chrono::milliseconds kLook{1};
  CallState& state = call_state();
  Detach wanted = Detach::Wanted;
  (void)state.detach.compare_exchange_strong(wanted, Detach::No);
  while (state.detach.load() == Detach::Begun) {
    pause_for(kLook);
  }
}

}  // namespace carpool::gpu::inject
