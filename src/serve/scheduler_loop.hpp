// The one thread that owns the scheduler. Other threads hand it work and wait; concurrent requests
// are made durable by one commit, and no request is answered before it.
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
  int wake_descriptor = -1;  // readable when the executor has a report; -1: none
  // How often to turn without an event, for an executor that has no descriptor.
  double look_every_s = 1.0;
  std::function<double()> clock{};  // as ServerClock::now_s(); empty: one of its own
  double speed = 1.0;               // of that clock
  SchedulerWork each_turn{};        // runs before the scheduler decides
  std::function<void(double seconds)> on_decision{};  // duration of each step
};

enum class PostTopic : std::uint8_t { Gpus, Disk };

class SchedulerLoop {
 public:
  // The scheduler outlives the loop and is used by no other thread until stop() has returned.
  [[nodiscard]] static Result<std::unique_ptr<SchedulerLoop>> start(schedule::Scheduler& scheduler,
                                                                    LoopSettings settings);
  SchedulerLoop(const SchedulerLoop&) = delete;
  SchedulerLoop& operator=(const SchedulerLoop&) = delete;
  ~SchedulerLoop();

  // The work is done and durable when it returns. Unavailable: the loop has ended, or the journal
  // cannot be written for now; then the work was not done.
  [[nodiscard]] Result<void> perform(SchedulerWork work);

  // The same, for work with a result.
  template <class T>
  [[nodiscard]] Result<T> ask(std::function<Result<T>(schedule::Scheduler&, double now_s)> work) {
    std::optional<Result<T>> answer;
    const Result<void> done = perform(
        [&](schedule::Scheduler& scheduler, double now_s) { answer = work(scheduler, now_s); });
    if (!done) {
      return tl::unexpected(done.error());
    }
    return std::move(*answer);
  }

  // Queues work without waiting for it. While the journal cannot be written, which may last for
  // days, only the latest work of a topic is kept.
  void post(PostTopic topic, SchedulerWork work);

  void stop();
  // Why the loop ended by itself; empty: it did not.
  [[nodiscard]] std::optional<Error> failure() const;
  // Why the journal cannot be written at the moment; empty: it can.
  [[nodiscard]] std::optional<Error> stalled() const;
  // Number of turns; it stands still when the loop hangs.
  [[nodiscard]] std::uint64_t turns() const { return turns_.load(); }
  // Of the clock in the settings; never goes back.
  [[nodiscard]] double now_s();

 private:
  struct Task {
    SchedulerWork work;
    std::optional<Result<void>>* answer = nullptr;  // null: no thread waits
    std::optional<PostTopic> topic{};               // of posted work
  };
  SchedulerLoop(schedule::Scheduler& scheduler, LoopSettings settings, Descriptor wake);
  void run();
  [[nodiscard]] Result<void> turn();
  [[nodiscard]] Result<void> turn_caught();
  // `looks` are answered with an error if the disk is full, and then empty.
  [[nodiscard]] Result<void> flush(std::vector<Task>& looks);
  [[nodiscard]] bool pause_before_retry(const Error& trouble, std::vector<Task>& looks);
  void wait();
  void wake();
  void answer(const std::vector<Task>& tasks, const Result<void>& answer);

  schedule::Scheduler& scheduler_;
  LoopSettings settings_;
  Descriptor wake_;
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<Task> tasks_;
  std::optional<Error> failure_;
  std::optional<Error> stalled_;  // why the journal cannot be written at the moment
  bool ending_ = false;
  bool ended_ = false;
  double latest_s_ = 0.0;
  std::optional<double> next_s_;  // when the scheduler must be called next
  std::atomic<std::uint64_t> turns_{0};
  std::thread thread_;
};

}  // namespace carpool::serve
