// The part of WindowFollower that records kernels.
#include <chrono>

#include "base/clock.hpp"
#include "gpu/cupti/inject/window/window_follower.hpp"

namespace carpool::gpu::inject {
namespace {

constexpr std::chrono::milliseconds kTakeEvery{5};
constexpr std::int64_t kFlushEveryNs = 200'000'000;
// Programs queue up to a thousand kernels, which run after the window that launched them.
constexpr std::int64_t kLongestDrainNs = 6'000'000'000;
constexpr std::chrono::milliseconds kDetachEvery{5};
constexpr int kDetachLooks = 100;
// Before kernels are recorded, a program is watched this long for graphs.
constexpr std::chrono::milliseconds kGraphLook{500};

}  // namespace

WindowView::Answer WindowFollower::traced(const WindowView::Order& order) {
  if (!can_trace_kernels(cupti_)) {
    return {.state = window_format::State::Refused, .code = cupti::kNotSupported};
  }
  Subscription subscription(cupti_.functions);
  if (subscription.code() != cupti::kSuccess) {
    return refused(subscription.code());
  }
  if (!await_start(order.start_ns)) {
    return {.state = window_format::State::Spoiled};
  }
  launch_count().begin(monotonic_ns());
  if (const cupti::Code code = subscription.listen(); code != cupti::kSuccess) {
    return refused(code);
  }
  // On an H200 with CUDA 13.0, a program that replays a graph made before its kernels were recorded
  // ended with "unspecified launch failure".
  if (!launch_count().graph_seen() && !rest(kGraphLook)) {
    return {.state = window_format::State::Spoiled};
  }
  if (launch_count().graph_seen()) {
    return {.state = window_format::State::Unseen};
  }
  launch_count().begin(monotonic_ns());
  const WindowView::Answer answer = recorded(std::int64_t{order.length_ms} * 1'000'000);
  if (watched_.detach && answer.state != window_format::State::Busy &&
      !launch_count().graph_seen()) {
    detach(subscription);
  }
  return answer;
}

WindowView::Answer WindowFollower::recorded(std::int64_t length) {
  KernelTrace trace(cupti_.functions);
  if (const cupti::Code code = trace.begin(); code != cupti::kSuccess) {
    return refused(code);
  }
  const bool stays = collect(trace, length);
  const KernelTrace::Traced traced = trace.traced();
  WindowView::Answer answer{
      .state = stays ? window_format::State::Done : window_format::State::Spoiled,
      .launches = counted_.launches,
      .over_ns = counted_.over_ns,
      .kernels = traced.kernels};
  const bool nothing = traced.kernels.count == 0 && counted_.launches != 0;
  if (stays && (traced.lost || nothing || launch_count().graph_seen())) {
    answer.state = window_format::State::Unseen;
  }
  return answer;
}

// False: the program exits.
bool WindowFollower::collect(KernelTrace& trace, std::int64_t length) {
  std::int64_t flushed = monotonic_ns();
  const auto takes = [&] {
    const bool stays = rest(kTakeEvery);
    trace.take();
    if (monotonic_ns() - flushed >= kFlushEveryNs) {
      flushed = monotonic_ns();
      trace.flush();
    }
    return stays;
  };
  bool stays = true;
  for (const std::int64_t until = monotonic_ns() + length; stays && monotonic_ns() < until;) {
    stays = takes();
  }
  counted_ = launch_count().until(monotonic_ns());
  trace.end();
  trace.flush();
  const std::int64_t latest = monotonic_ns() + kLongestDrainNs;
  trace.take();
  while (stays && trace.waits() && monotonic_ns() < latest) {
    stays = takes();
  }
  trace.finish();
  return stays;
}

// CUPTI stays in a process that once used it, and slows each call, until it is told to detach.
void WindowFollower::detach(Subscription& subscription) {
  for (int look = 0; look < kDetachLooks && !subscription.detached(); ++look) {
    if (!rest(kDetachEvery)) {
      break;
    }
  }
  subscription.give_up_detaching();
}

}  // namespace carpool::gpu::inject
