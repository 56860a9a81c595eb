// A bounded pool of buffers that CUPTI fills with records. Thread-safe.
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

  explicit BufferPool(std::size_t max_buffers = kMaxBuffers) : max_buffers_(max_buffers) {}

  struct Full {
    std::uint8_t* buffer = nullptr;
    std::size_t valid = 0;
  };

  // A zeroed buffer for CUPTI; null if all are in use, which makes CUPTI drop records.
  [[nodiscard]] std::uint8_t* lend();
  // CUPTI returns a buffer.
  void complete(std::uint8_t* buffer, std::size_t valid);

  // Takes all returned buffers; waits up to 5 ms for one.
  [[nodiscard]] std::vector<Full> take();
  // Wakes take().
  void wake();
  // Makes a taken buffer available again.
  void recycle(std::uint8_t* buffer);

  // Frees the buffers that CUPTI does not hold. The rest is never freed: it may use them until the
  // process ends.
  void release();

  // CUPTI has requested a buffer, so the program uses a GPU.
  [[nodiscard]] bool in_use() const;
  [[nodiscard]] std::size_t lent() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint8_t*> free_;
  std::vector<Full> full_;
  std::size_t max_buffers_;
  std::size_t made_ = 0;
  std::size_t lent_ = 0;
  bool woken_ = false;
};

}  // namespace carpool::gpu::inject
