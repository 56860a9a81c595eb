// A gate inside the streams of a process: the GPU waits in front of it for a word in memory of the
// host. While it is closed, the program goes on launching.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/library/gating/work_in_flight.hpp"

namespace carpool::interpose {

class StreamGate {
 public:
  // Puts the gate behind what the stream has got; false: this driver or context has no gates. With
  // the lock of the gate held, and not while a capture is alive.
  [[nodiscard]] bool put(const StreamPlace& place);

  // From any thread. Without a call of the driver, which may wait for the GPU itself.
  void open() { set(kOpen); }
  void close() { set(kClosed); }

  // Before a context ends. Null: the primary one.
  void forget(Handle context);

 private:
  using Word = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t kOpen = 0;
  static constexpr std::uint64_t kClosed = 1;

  [[nodiscard]] bool prepare();
  void set(std::uint64_t value) {
    Word* const word = word_.load(std::memory_order_acquire);
    if (word != nullptr && word->load(std::memory_order_relaxed) != value) {
      word->store(value, std::memory_order_release);
    }
  }

  std::atomic<Word*> word_{nullptr};
  Handle context_ = nullptr;  // that knows the word
  DevicePointer address_ = 0;
  bool refused_ = false;
};

}  // namespace carpool::interpose
