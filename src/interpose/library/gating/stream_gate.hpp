// A gate inside the streams of a process: the GPU waits in front of it for a word in memory of the
// host. While it is closed, the program goes on launching.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/library/gating/host_words.hpp"

namespace carpool::interpose {

class StreamGate {
 public:
  // `number`: of its word.
  constexpr StreamGate(HostWords& words, std::size_t number) : words_(words), number_(number) {}

  // Puts the gate behind what the stream has got; false: this driver or context has no gates. As
  // HostWords::wait(). The first one is closed until the keeper looks.
  [[nodiscard]] bool put(const StreamPlace& place) {
    return words_.wait(place, number_, kOpen, WordIs::Equal);
  }

  // By the keeper. Without a call of the driver, which may wait for the GPU itself.
  void open() { set(kOpen); }
  void close() {
    if (is_open()) {
      // Before the word: who sees it closed sees this number.
      closings_.fetch_add(1, std::memory_order_relaxed);
      set(kClosed);
    }
  }
  // From any thread: the number of the time for which it is closed now; 0: it is open.
  [[nodiscard]] std::uint64_t closing() const {
    const HostWords::Word* const word = words_.word(number_);
    const bool closed = word != nullptr && word->load(std::memory_order_acquire) == kClosed;
    return closed ? closings_.load(std::memory_order_relaxed) : 0;
  }

 private:
  static constexpr std::uint64_t kOpen = 1;
  static constexpr std::uint64_t kClosed = 0;

  [[nodiscard]] bool is_open() const {
    const HostWords::Word* const word = words_.word(number_);
    return word != nullptr && word->load(std::memory_order_relaxed) == kOpen;
  }
  void set(std::uint64_t value) {
    if (HostWords::Word* const word = words_.word(number_)) {
      word->store(value, std::memory_order_release);
    }
  }

  HostWords& words_;
  std::size_t number_;
  std::atomic<std::uint64_t> closings_{1};  // it is closed at first
};

}  // namespace carpool::interpose
