// Runs the library in a process of a job that the server watches: sleeps, and counts launches or
// records kernels while a window is open. CUPTI is loaded with the first window, and nothing is
// subscribed to it between two windows, so that the program's own profiler works.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "gpu/cupti/inject/settings.hpp"
#include "gpu/cupti/inject/vendor_library.hpp"
#include "gpu/cupti/inject/window/kernel_trace.hpp"
#include "gpu/cupti/inject/window/subscription.hpp"
#include "gpu/cupti/inject/window/window_view.hpp"

namespace carpool::gpu::inject {

class WindowFollower {
 public:
  // The instance of this process; never destroyed, as its thread runs until the process ends.
  [[nodiscard]] static WindowFollower& instance();

  // Called inside cuInit. A second call does nothing; a failure leaves the program as it is.
  void start(const Watched& watched);
  // In a child of fork(), which has no such thread.
  void in_child();

 private:
  void run();
  void count(const WindowView::Order& order);
  [[nodiscard]] WindowView::Answer answer_to(const WindowView::Order& order);
  [[nodiscard]] WindowView::Answer counted(const WindowView::Order& order);
  [[nodiscard]] WindowView::Answer listened(Subscription& subscription,
                                            std::int64_t length,
                                            std::int64_t first_ns,
                                            std::int64_t latest_ns);
  [[nodiscard]] WindowView::Answer traced(const WindowView::Order& order);
  [[nodiscard]] WindowView::Answer recorded(std::int64_t length);
  [[nodiscard]] bool collect(KernelTrace& trace, std::int64_t length);
  void detach(Subscription& subscription);
  // Busy where the code says that another tool uses CUPTI.
  [[nodiscard]] static WindowView::Answer refused(cupti::Code code);
  [[nodiscard]] bool await_start(std::int64_t start_ns);
  [[nodiscard]] bool load_cupti();
  // Before CUPTI's own exit handlers, which run in reverse order of registration.
  static void end_at_exit();
  void at_exit();
  // False: the program exits.
  bool rest(std::chrono::nanoseconds time);

  Watched watched_;
  Cupti cupti_;
  WindowView view_;
  std::uint32_t seen_ = 0;  // one that is under way at the start began without this process
  bool started_ = false;
  LaunchCount::Counted counted_{};  // in the last window with kernels
  bool stood_still_ = false;  // slept far too long: the process was stopped, or got no processor
  std::atomic<bool> alive_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool exiting_ = false;
  bool in_window_ = false;
};

}  // namespace carpool::gpu::inject
