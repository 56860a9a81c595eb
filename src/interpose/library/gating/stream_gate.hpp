// A gate inside the streams of a process: the GPU waits in front of it for a word in memory of the
// host. While it is closed, the program goes on launching.
#pragma once

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

  // From any thread. Without a call of the driver, which may wait for the GPU itself.
  void open() { set(kOpen); }
  void close() { set(kClosed); }

 private:
  static constexpr std::uint64_t kOpen = 1;
  static constexpr std::uint64_t kClosed = 0;

  void set(std::uint64_t value) {
    HostWords::Word* const word = words_.word(number_);
    if (word != nullptr && word->load(std::memory_order_relaxed) != value) {
      word->store(value, std::memory_order_release);
    }
  }

  HostWords& words_;
  std::size_t number_;
};

}  // namespace carpool::interpose
