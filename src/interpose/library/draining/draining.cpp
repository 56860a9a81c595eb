#include "interpose/library/draining/draining.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "interpose/library/captures.hpp"
#include "interpose/library/clock.hpp"
#include "interpose/library/draining/drained_contexts.hpp"
#include "interpose/library/own_thread.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/settings.hpp"

namespace carpool::interpose {

constinit std::atomic<bool> draining{false};  // NOLINT

namespace {

constexpr std::uint64_t kMillisecondNs = 1'000'000;
constexpr std::uint64_t kLongestDrainNs = 2'000 * kMillisecondNs;
// One request to end may come as several signals: `timeout` sends it to a process and to its group.
constexpr std::uint64_t kSameRequestNs = 100 * kMillisecondNs;
// Launches that were let through before the signal reach the driver meanwhile.
constexpr std::int64_t kUnderWayNs = 1'000'000;
constexpr std::size_t kStackBytes = std::size_t{256} << 10U;  // of the thread that waits

constexpr std::array kTakenOver{SIGTERM, SIGINT};

constinit std::atomic<bool> taken_over{false};      // NOLINT
constinit std::atomic<pid_t> owner{0};              // NOLINT: not a child of a fork
constinit std::atomic<int> ending_by{0};            // NOLINT: the signal
constinit std::atomic<std::uint64_t> asked_ns{0};   // NOLINT
constinit std::atomic<std::uint32_t> wakes{0};      // NOLINT: of the parked thread
constinit std::atomic<std::uint32_t> work_done{0};  // NOLINT

// Only system calls: the code runs in a signal handler, too.
void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t value, const timespec* span) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, span, nullptr, 0);
}
void set_and_wake(std::atomic<std::uint32_t>& word) {
  word.fetch_add(1);
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void change_mask(int how, const sigset_t& signals, sigset_t* before = nullptr) {
  constexpr std::size_t kBytesOfKernel = 8;
  ::syscall(SYS_rt_sigprocmask, how, &signals, before, kBytesOfKernel);
}

void on_signal(int signal);

bool is_ours(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == &on_signal;
}

void end_as_usual(int signal) {
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  ::sigaction(signal, &usual, nullptr);
}

// The calling thread takes the signal, whatever the others block.
void die_by(int signal) {
  end_as_usual(signal);
  ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal);
  sigset_t it{};
  ::sigemptyset(&it);
  ::sigaddset(&it, signal);
  change_mask(SIG_UNBLOCK, it);
}

void on_signal(int signal) {
  const int error = errno;
  const std::uint64_t now = exact_now_ns();
  const bool child = ::getpid() != owner.load();
  int none = 0;
  if (!child && ending_by.compare_exchange_strong(none, signal)) {
    asked_ns.store(now);
    draining.store(true);
    set_and_wake(wakes);
  } else if (child || (asked_ns.load() != 0 && now - asked_ns.load() > kSameRequestNs)) {
    die_by(signal);
  }
  errno = error;
}

void* wait_for_work(void* /*unused*/) {
  const Call call;  // what the driver calls meanwhile is not the program's
  while (captures.load() != 0) {
    pause_ns(kUnderWayNs);
  }
  wait_for_drained_contexts();
  set_and_wake(work_done);
  return nullptr;
}

void drain() {
  pause_ns(kUnderWayNs);
  // A thread of its own: on a GPU that hangs, it never returns.
  const std::uint32_t done_before = work_done.load();
  if (!start_thread(&wait_for_work, nullptr, 0)) {
    return;
  }
  const std::uint64_t end = asked_ns.load() + kLongestDrainNs;
  while (work_done.load() == done_before) {
    const std::uint64_t now = exact_now_ns();
    if (now >= end) {
      return;
    }
    constexpr std::uint64_t kSecondNs = 1'000 * kMillisecondNs;
    const timespec left{.tv_sec = static_cast<time_t>((end - now) / kSecondNs),
                        .tv_nsec = static_cast<long>((end - now) % kSecondNs)};
    wait_on(work_done, done_before, &left);
  }
}

// Parked until a signal comes.
void* end_when_asked(void* /*unused*/) {
  ::prctl(PR_SET_NAME, "carpool-drain");
  for (;;) {
    const std::uint32_t seen = wakes.load();
    const int signal = ending_by.load();
    if (signal == 0 || asked_ns.load() == 0) {
      wait_on(wakes, seen, nullptr);
      continue;
    }
    drain();
    if (is_ours(signal)) {
      die_by(signal);
    }
    // The program has begun to handle the signal: it gets it, and goes on.
    asked_ns.store(0);
    ending_by.store(0);
    draining.store(false);
    ::kill(::getpid(), signal);
  }
}

void take_over(int signal) {
  struct sigaction before{};
  if (::sigaction(signal, nullptr, &before) != 0 || (before.sa_flags & SA_SIGINFO) != 0 ||
      before.sa_handler != SIG_DFL) {
    return;
  }
  struct sigaction ours{};
  ours.sa_handler = &on_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  // Between the two calls another thread of the program may have installed a handler.
  if (::sigaction(signal, &ours, &before) == 0 && before.sa_handler != SIG_DFL) {
    ::sigaction(signal, &before, nullptr);
  }
}

void take_over_signals() {
  constexpr pid_t kInit = 1;  // of a container, which these signals do not end
  const int error = errno;
  if (::getpid() != kInit && setting("CARPOOL_SHIM_MPS") == "1" && !taken_over.exchange(true)) {
    owner.store(::getpid());
    if (start_thread(&end_when_asked, nullptr, kStackBytes)) {
      for (const int signal : kTakenOver) {
        take_over(signal);
      }
    }
  }
  errno = error;
}

}  // namespace

void context_to_drain(Handle context, int primary) {
  take_over_signals();
  add_drained_context(context, primary);
}

void context_ends(Handle context) {
  stop_if_draining();  // the thread that waits for its work uses it
  remove_drained_context(context);
}

void wait_for_end() {
  while (draining.load()) {
    pause_ns(kUnderWayNs);
  }
}

// What is sent beside a capture goes on, so that the capture comes to its end.
void hold_work() {
  while (draining.load() && captures.load() == 0) {
    pause_ns(kUnderWayNs);
  }
}

void forget_draining() {
  draining.store(false);
  for (const int signal : kTakenOver) {
    if (is_ours(signal)) {
      end_as_usual(signal);
    }
  }
}

}  // namespace carpool::interpose
