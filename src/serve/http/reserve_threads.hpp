// Threads that exist before they are needed, for operators: an operator reaches the server also
// when the system starts no more threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/process/thread.hpp"

namespace carpool::serve {

// Work does not throw. Thread-safe.
class ReserveThreads {
 public:
  ReserveThreads() = default;
  ReserveThreads(const ReserveThreads&) = delete;
  ReserveThreads& operator=(const ReserveThreads&) = delete;
  ~ReserveThreads() { stop(); }

  [[nodiscard]] Result<void> start(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Result<std::thread> thread = start_thread([this] { run(); });
      if (!thread) {
        return tl::unexpected(thread.error());
      }
      threads_.push_back(std::move(*thread));
    }
    return {};
  }

  // False: too much work waits already.
  [[nodiscard]] bool offer(std::function<void()> work) {
    constexpr std::size_t kMostWaiting = 32;
    const std::scoped_lock lock(mutex_);
    if (stopping_ || waiting_.size() >= kMostWaiting) {
      return false;
    }
    waiting_.push_back(std::move(work));
    offered_.notify_one();
    return true;
  }

  // Returns when all accepted work is done.
  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
      offered_.notify_all();
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      offered_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) {
        return;
      }
      {
        const std::function<void()> work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        work();
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable offered_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
};

}  // namespace carpool::serve
