// The memory that CUPTI fills with records: a bounded number of buffers that go round. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace carpool::gpu::inject {

class BufferPool {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;
  static constexpr std::size_t kMaxBuffers = 256;

  struct Full {
    std::uint8_t* buffer = nullptr;
    std::size_t valid = 0;
  };

  // A buffer of zeros for CUPTI; null when all are in use, which makes CUPTI drop records.
  [[nodiscard]] std::uint8_t* lend();
  // CUPTI gives one back.
  void complete(std::uint8_t* buffer, std::size_t valid);

  // Everything that came back and was not taken yet; waits up to 5 ms for something.
  [[nodiscard]] std::vector<Full> take();
  // Wakes who waits in take().
  void wake();
  // A taken buffer goes round again.
  void recycle(std::uint8_t* buffer);

  // CUPTI has asked for a buffer at least once: something runs on a GPU.
  [[nodiscard]] bool in_use() const;
  [[nodiscard]] std::size_t lent() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint8_t*> free_;
  std::vector<Full> full_;
  std::size_t made_ = 0;
  std::size_t lent_ = 0;
  bool woken_ = false;
};

}  // namespace carpool::gpu::inject
