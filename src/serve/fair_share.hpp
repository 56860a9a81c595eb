// Divides a stock (connections, bytes) among users, so that none can take it from the others.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace carpool::serve {

// A user holds at most a fixed part of the stock, and never more than is left for the others. The
// last eighth is for users who hold little: many greedy users do not keep a newcomer out.
// Thread-safe.
class FairShare {
 public:
  using Key = std::uint64_t;  // a user, or the address of a caller who is not known yet

  FairShare(std::size_t stock, std::size_t most_of_one)
      : free_(stock),
        most_(most_of_one),
        little_(std::max<std::size_t>(stock / 256, 1)),
        for_little_(stock / 8) {}

  // What a user holds until this is destroyed. The share outlives it.
  class Held {
   public:
    Held() = default;
    Held(Held&& other) noexcept
        : from_(std::exchange(other.from_, nullptr)), key_(other.key_), amount_(other.amount_) {}
    Held& operator=(Held&& other) noexcept {
      if (this != &other) {
        reduce_to(0);
        from_ = std::exchange(other.from_, nullptr);
        key_ = other.key_;
        amount_ = other.amount_;
      }
      return *this;
    }
    ~Held() { reduce_to(0); }

    [[nodiscard]] explicit operator bool() const { return from_ != nullptr; }
    // False: there is not that much more for this user.
    [[nodiscard]] bool grow(std::size_t more) {
      const bool got = from_ != nullptr && from_->take(key_, more);
      amount_ += got ? more : 0;
      return got;
    }
    void reduce_to(std::size_t amount) {
      if (from_ != nullptr && amount < amount_) {
        from_->give_back(key_, amount_ - amount);
        amount_ = amount;
      }
    }

   private:
    friend class FairShare;
    Held(FairShare* from, Key key, std::size_t amount) : from_(from), key_(key), amount_(amount) {}

    FairShare* from_ = nullptr;
    Key key_ = 0;
    std::size_t amount_ = 0;
  };

  // Waits up to `patience` for others to give back; false: it was not enough.
  [[nodiscard]] Held hold(Key key,
                          std::size_t amount,
                          std::chrono::milliseconds patience = std::chrono::milliseconds(0)) {
    std::unique_lock lock(mutex_);
    const bool got = more_.wait_for(lock, patience, [&] { return fits(key, amount); });
    if (!got) {
      return {};
    }
    add(key, amount);
    return {this, key, amount};
  }

 private:
  [[nodiscard]] bool fits(Key key, std::size_t amount) const {
    const auto found = held_.find(key);
    const std::size_t wanted = (found == held_.end() ? 0 : found->second) + amount;
    if (wanted <= little_) {
      return amount <= free_;
    }
    return wanted <= std::min(most_, free_ - std::min(free_, for_little_));
  }
  void add(Key key, std::size_t amount) {
    held_[key] += amount;
    free_ -= amount;
  }
  [[nodiscard]] bool take(Key key, std::size_t amount) {
    const std::scoped_lock lock(mutex_);
    const bool possible = fits(key, amount);
    if (possible) {
      add(key, amount);
    }
    return possible;
  }
  void give_back(Key key, std::size_t amount) {
    const std::scoped_lock lock(mutex_);
    free_ += amount;
    const auto found = held_.find(key);
    found->second -= amount;
    if (found->second == 0) {
      held_.erase(found);
    }
    more_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::size_t free_;
  std::size_t most_;
  std::size_t little_;
  std::size_t for_little_;
  std::map<Key, std::size_t> held_;
};

}  // namespace carpool::serve
