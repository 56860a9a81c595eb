#include "gpu/cupti/inject/window/window_follower.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <sys/prctl.h>
#include <thread>

#include "base/clock.hpp"
#include "gpu/cupti/inject/window/launch_count.hpp"

namespace carpool::gpu::inject {
namespace {

namespace format = window_format;

constexpr std::chrono::milliseconds kLookEvery{250};
constexpr std::chrono::seconds kExitPatience{1};
constexpr std::int64_t kLongestWaitNs = 2'000'000'000;
constexpr std::int64_t kLongestExtension = 3;  // times the length of the window
constexpr int kMostAttempts = 3;
constexpr std::int64_t kOverslept = 400'000'000;

LaunchCount& launch_count() {
  static auto* const count = new LaunchCount;
  return *count;
}

void on_call(void* /*user*/, std::uint32_t /*domain*/, std::uint32_t /*id*/, const void* data) {
  if (static_cast<const cupti::CallbackData*>(data)->site == cupti::kCallEntered) {
    launch_count().launch(monotonic_ns());
  }
}

void in_forked_child() {
  WindowFollower::instance().in_child();
}

}  // namespace

// Subscribed while it exists.
class WindowFollower::Subscription {
 public:
  explicit Subscription(const CuptiFunctions& functions) : functions_(functions) {
    code_ = functions_.subscribe(&subscriber_, &on_call, nullptr);
  }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  ~Subscription() {
    if (code_ == cupti::kSuccess) {
      (void)listen(false);
      (void)functions_.unsubscribe(subscriber_);
    }
  }

  [[nodiscard]] cupti::Code code() const { return code_; }
  // A call that this driver does not have cannot be made, either: only the first one counts.
  cupti::Code listen(bool on) {
    cupti::Code first = cupti::kSuccess;
    for (const std::uint32_t call : cupti::kLaunchCalls) {
      const cupti::Code code =
          functions_.enable_callback(on ? 1U : 0U, subscriber_, cupti::kDriverApi, call);
      first = call == cupti::kLaunchCalls.front() ? code : first;
    }
    return first;
  }

 private:
  const CuptiFunctions& functions_;
  cupti::Subscriber subscriber_ = nullptr;
  cupti::Code code_ = cupti::kSuccess;
};

WindowFollower& WindowFollower::instance() {
  static auto* const follower = new WindowFollower;
  return *follower;
}

void WindowFollower::start(const std::string& file, const std::string& cupti_library) {
  if (started_ || !view_.open(file)) {
    return;
  }
  started_ = true;
  cupti_library_ = cupti_library;
  seen_ = view_.order().number;
  (void)launch_count();
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
  view_.answer(order.number, {.state = format::State::Open});
  view_.answer(order.number, counted(order));
  const std::lock_guard lock(mutex_);
  in_window_ = false;
  changed_.notify_all();
}

WindowView::Answer WindowFollower::counted(const WindowView::Order& order) {
  if (!load_cupti()) {
    return {.state = format::State::NoCupti};
  }
  const std::int64_t length = std::int64_t{order.length_ms} * 1'000'000;
  stood_still_ = false;
  WindowView::Answer answer;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    Subscription subscription(cupti_.functions);
    if (subscription.code() != cupti::kSuccess) {
      return {.state = subscription.code() == cupti::kMultipleSubscribers ? format::State::Busy
                                                                          : format::State::Refused,
              .code = subscription.code()};
    }
    answer = listened(subscription, order.start_ns, length);
    if (answer.state != format::State::None) {
      break;
    }
  }
  if (answer.state == format::State::None) {
    answer.state = format::State::Done;
  }
  if (stood_still_) {
    answer.state = format::State::Spoiled;
  }
  return answer;
}

// State None: nothing was launched in the first part of the window. It was seen on an H200 that a
// subscription delivers no calls while the program launches.
WindowView::Answer WindowFollower::listened(Subscription& subscription,
                                            std::int64_t start_ns,
                                            std::int64_t length) {
  const std::int64_t wait = start_ns - monotonic_ns();
  if (wait > 0 && !rest(std::chrono::nanoseconds(std::min(wait, kLongestWaitNs)))) {
    return {.state = format::State::Spoiled};
  }
  LaunchCount& launches = launch_count();
  const cupti::Code code = subscription.listen(true);
  if (code != cupti::kSuccess) {
    return {.state = format::State::Refused, .code = code};
  }
  const std::int64_t from = monotonic_ns();
  launches.begin(from);
  bool stays = rest(std::chrono::nanoseconds(length / 3));
  if (stays && launches.until(monotonic_ns()).launches == 0) {
    return {.over_ns = monotonic_ns() - from};
  }
  stays = stays && rest(std::chrono::nanoseconds(length - length / 3));
  const std::int64_t latest = from + length * (1 + kLongestExtension);
  while (stays && monotonic_ns() < latest && launches.is_coarse(monotonic_ns())) {
    stays = rest(std::chrono::nanoseconds(length / 8));
  }
  const LaunchCount::Counted counted = launches.until(monotonic_ns());
  return {.state = stays ? format::State::Done : format::State::Spoiled,
          .launches = counted.launches,
          .over_ns = counted.over_ns};
}

bool WindowFollower::load_cupti() {
  if (cupti_.handle == nullptr) {
    cupti_ = find_cupti(cupti_library_);
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
  changed_.wait_for(lock, kExitPatience, [this] { return !in_window_; });
}

}  // namespace carpool::gpu::inject
