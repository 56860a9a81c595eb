#include "gpu/cupti/inject/window/window_follower.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <sys/prctl.h>
#include <thread>

#include "base/clock.hpp"

namespace carpool::gpu::inject {
namespace {

constexpr std::chrono::milliseconds kLookEvery{250};
// For a call of CUPTI that is under way, not for the window. Two processes with PyTorch on a busy
// H200 ended with SIGSEGV while they exited, with a patience of one second.
constexpr std::chrono::seconds kWindowEndPatience{10};
constexpr std::int64_t kLongestWaitNs = 2'000'000'000;
constexpr std::int64_t kLongestExtension = 3;  // times the length of the window
constexpr std::int64_t kOverslept = 400'000'000;
void in_forked_child() {
  WindowFollower::instance().in_child();
}

}  // namespace

WindowFollower& WindowFollower::instance() {
  static auto* const follower = new WindowFollower;
  return *follower;
}

void WindowFollower::in_child() {
  alive_ = false;
  KernelTrace::forget();
}

void WindowFollower::start(const Watched& watched) {
  if (started_ || !view_.open(watched.file)) {
    return;
  }
  started_ = true;
  watched_ = watched;
  seen_ = view_.order().number;
  (void)launch_count();  // made here, not in a call of the program
  (void)::pthread_atfork(nullptr, nullptr, &in_forked_child);
  end_at_exit();
  // Signals are left to the program's own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  alive_ = true;
  try {
    std::thread([this] { run(); }).detach();
  } catch (...) {
    alive_ = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WindowFollower::end_at_exit() {
  (void)std::atexit([] {
    try {
      instance().at_exit();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the program exits as it would without us
    }
  });
}

bool WindowFollower::rest(std::chrono::nanoseconds time) {
  const std::int64_t until = monotonic_ns() + time.count();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return exiting_; });
  stood_still_ = stood_still_ || monotonic_ns() > until + kOverslept;
  return !exiting_;
}

void WindowFollower::run() {
  try {
    ::prctl(PR_SET_NAME, "carpool-window");
    while (rest(kLookEvery)) {
      if (const WindowView::Order order = view_.order(); order.number != seen_) {
        seen_ = order.number;
        count(order);
      }
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; nothing is counted any more
  }
  std::unique_lock lock(mutex_);
  in_window_ = false;
  alive_ = exiting_;
  changed_.notify_all();
  // CUPTI keeps data of each thread that called it. Its cleanup, when this thread ends, would race
  // with that of the library at the exit of the process.
  changed_.wait(lock, [this] { return !exiting_; });
}

void WindowFollower::count(const WindowView::Order& order) {
  {
    const std::lock_guard lock(mutex_);
    if (exiting_) {
      return;
    }
    in_window_ = true;
  }
  view_.answer(order.number, {.state = window_format::State::Open});
  view_.answer(order.number, answer_to(order));
  const std::lock_guard lock(mutex_);
  in_window_ = false;
  changed_.notify_all();
}

WindowView::Answer WindowFollower::answer_to(const WindowView::Order& order) {
  if (!load_cupti()) {
    return {.state = window_format::State::NoCupti};
  }
  stood_still_ = false;
  WindowView::Answer answer =
      order.kind == window_format::Kind::Kernels ? traced(order) : counted(order);
  if (stood_still_) {
    answer.state = window_format::State::Spoiled;
  }
  return answer;
}

WindowView::Answer WindowFollower::refused(cupti::Code code) {
  const bool other = code == cupti::kMultipleSubscribers || code == cupti::kNotCompatible;
  return {.state = other ? window_format::State::Busy : window_format::State::Refused,
          .code = code};
}

bool WindowFollower::await_start(std::int64_t start_ns) {
  const std::int64_t wait = start_ns - monotonic_ns();
  return wait <= 0 || rest(std::chrono::nanoseconds(std::min(wait, kLongestWaitNs)));
}

WindowView::Answer WindowFollower::counted(const WindowView::Order& order) {
  const std::int64_t length = std::int64_t{order.length_ms} * 1'000'000;
  std::int64_t latest = 0;
  // Patience with a subscription that delivers no call: short at first, because it may be deaf,
  // then longer, because the program may launch seldom.
  for (const std::int64_t patience : {length / 3, length, length * (1 + kLongestExtension)}) {
    Subscription subscription(cupti_.functions);
    if (subscription.code() != cupti::kSuccess) {
      return refused(subscription.code());
    }
    if (!await_start(order.start_ns)) {
      return {.state = window_format::State::Spoiled};
    }
    const std::int64_t now = monotonic_ns();
    latest = latest != 0 ? latest : now + length * (1 + kLongestExtension);
    const WindowView::Answer answer =
        listened(subscription, length, std::min(now + patience, latest), latest);
    if (answer.state != window_format::State::None || monotonic_ns() >= latest) {
      return {.state = answer.state == window_format::State::None ? window_format::State::Done
                                                                  : answer.state,
              .code = answer.code,
              .launches = answer.launches,
              .over_ns = answer.over_ns};
    }
  }
  return {.state = window_format::State::Done, .over_ns = length};
}

// State None: nothing was launched until `first_ns`. It was seen on an H200 that a subscription
// delivers no calls while the program launches.
WindowView::Answer WindowFollower::listened(Subscription& subscription,
                                            std::int64_t length,
                                            std::int64_t first_ns,
                                            std::int64_t latest_ns) {
  LaunchCount& launches = launch_count();
  const std::int64_t from = monotonic_ns();
  launches.begin(from);
  if (const cupti::Code code = subscription.listen(); code != cupti::kSuccess) {
    return refused(code);
  }
  bool stays = rest(std::chrono::nanoseconds(length / 3));
  while (stays && launches.until(monotonic_ns()).launches == 0 && monotonic_ns() < first_ns) {
    stays = rest(std::chrono::nanoseconds(length / 8));
  }
  if (stays && launches.until(monotonic_ns()).launches == 0) {
    return {.over_ns = monotonic_ns() - from};
  }
  const std::int64_t left = from + length - monotonic_ns();
  stays = stays && (left <= 0 || rest(std::chrono::nanoseconds(left)));
  while (stays && monotonic_ns() < latest_ns && launches.is_coarse(monotonic_ns())) {
    stays = rest(std::chrono::nanoseconds(length / 8));
  }
  const LaunchCount::Counted counted = launches.until(monotonic_ns());
  return {.state = stays ? window_format::State::Done : window_format::State::Spoiled,
          .launches = counted.launches,
          .over_ns = counted.over_ns};
}

bool WindowFollower::load_cupti() {
  if (cupti_.handle == nullptr) {
    cupti_ = find_cupti(watched_.cupti_library);
    if (cupti_.handle != nullptr) {
      end_at_exit();
    }
  }
  return cupti_.handle != nullptr;
}

void WindowFollower::at_exit() {
  if (!alive_) {
    return;
  }
  std::unique_lock lock(mutex_);
  exiting_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kWindowEndPatience, [this] { return !in_window_; });
}

}  // namespace carpool::gpu::inject
