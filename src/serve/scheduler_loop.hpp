// The one thread that owns the scheduler. Others hand it work and wait; what many ask at once is
// made durable by one commit, and nobody is answered before it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::serve {

using SchedulerWork = std::function<void(schedule::Scheduler& scheduler, double now_s)>;

struct LoopSettings {
  int wake_descriptor = -1;  // readable: the executor has something to report; -1: none
  // How often to look although nothing happened, for an executor that cannot wake anybody.
  double look_every_s = 1.0;
  std::function<double()> clock{};  // seconds since the epoch; empty: the machine's
  double speed = 1.0;               // of that clock
  SchedulerWork each_turn{};        // before the scheduler decides
  std::function<void(double seconds)> on_decision{};  // how long a step took
};

class SchedulerLoop {
 public:
  using Work = std::function<void(schedule::Scheduler& scheduler, double now_s)>;

  // The scheduler outlives it, and is touched by nobody else until stop() has returned.
  [[nodiscard]] static Result<std::unique_ptr<SchedulerLoop>> start(schedule::Scheduler& scheduler,
                                                                    LoopSettings settings);
  SchedulerLoop(const SchedulerLoop&) = delete;
  SchedulerLoop& operator=(const SchedulerLoop&) = delete;
  ~SchedulerLoop();

  // Done, and durable, when it returns. An error: the loop has ended, and nothing is promised.
  [[nodiscard]] Result<void> perform(SchedulerWork work);

  // The same, for work that has an answer.
  template <class T>
  [[nodiscard]] Result<T> ask(
      std::function<Result<T>(schedule::Scheduler&, double now_s)> question) {
    std::optional<Result<T>> answer;
    const Result<void> done = perform(
        [&](schedule::Scheduler& scheduler, double now_s) { answer = question(scheduler, now_s); });
    if (!done) {
      return tl::unexpected(done.error());
    }
    return std::move(*answer);
  }

  // Does it some time; nobody waits.
  void post(SchedulerWork work);

  void stop();
  // Why the loop ended by itself; empty: it has not.
  [[nodiscard]] std::optional<Error> failure() const;
  // Turns so far: a loop that hangs does not count on.
  [[nodiscard]] std::uint64_t turns() const { return turns_.load(); }
  // Seconds since the epoch that never run backwards.
  [[nodiscard]] double now_s();

 private:
  struct Task {
    SchedulerWork work;
    bool* done = nullptr;  // null: nobody waits
  };
  SchedulerLoop(schedule::Scheduler& scheduler, LoopSettings settings, Descriptor wake);
  void run();
  [[nodiscard]] Result<void> turn();
  void wait();
  void wake();
  void answer(const std::vector<Task>& tasks);

  schedule::Scheduler& scheduler_;
  LoopSettings settings_;
  Descriptor wake_;
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<Task> tasks_;
  std::optional<Error> failure_;
  bool ending_ = false;
  bool ended_ = false;
  double latest_s_ = 0.0;
  std::optional<double> next_s_;  // when the scheduler wants to be called
  std::atomic<std::uint64_t> turns_{0};
  std::thread thread_;
};

}  // namespace carpool::serve
