// A lock for a few instructions at a time, away from the path of launches. It needs no start-up.
#pragma once

#include <atomic>
#include <sched.h>

namespace carpool::interpose {

class SpinLock {
 public:
  constexpr SpinLock() = default;

  class Holder {
   public:
    explicit Holder(SpinLock& lock) : lock_(lock) {
      while (lock_.taken_.exchange(true, std::memory_order_acquire)) {
        ::sched_yield();
      }
    }
    ~Holder() { lock_.taken_.store(false, std::memory_order_release); }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   private:
    SpinLock& lock_;
  };

  // For work that can as well be left undone.
  class Attempt {
   public:
    explicit Attempt(SpinLock& lock)
        : lock_(lock), held_(!lock.taken_.exchange(true, std::memory_order_acquire)) {}
    ~Attempt() {
      if (held_) {
        lock_.taken_.store(false, std::memory_order_release);
      }
    }
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    [[nodiscard]] bool held() const { return held_; }

   private:
    SpinLock& lock_;
    bool held_;
  };

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace carpool::interpose
