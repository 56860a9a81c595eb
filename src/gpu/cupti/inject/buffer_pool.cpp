#include "gpu/cupti/inject/buffer_pool.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace carpool::gpu::inject {
namespace {

constexpr std::size_t kAlignment = 64;  // CUPTI requires 8
constexpr std::chrono::milliseconds kWait{5};

}  // namespace

std::uint8_t* BufferPool::lend() {
  const std::lock_guard lock(mutex_);
  std::uint8_t* buffer = nullptr;
  if (!free_.empty()) {
    buffer = free_.back();
    free_.pop_back();
  } else if (made_ < max_buffers_) {
    buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
    if (buffer != nullptr) {
      std::memset(buffer, 0, kBufferBytes);
      ++made_;
    }
  }
  lent_ += buffer != nullptr ? 1U : 0U;
  return buffer;
}

void BufferPool::complete(std::uint8_t* buffer, std::size_t valid) {
  {
    const std::lock_guard lock(mutex_);
    full_.push_back({buffer, valid});
    --lent_;
  }
  changed_.notify_one();
}

std::vector<BufferPool::Full> BufferPool::take() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kWait, [this] { return !full_.empty() || woken_; });
  woken_ = false;
  return std::exchange(full_, {});
}

void BufferPool::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void BufferPool::recycle(std::uint8_t* buffer) {
  std::memset(buffer, 0, kBufferBytes);
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer);
}

void BufferPool::release() {
  const std::lock_guard lock(mutex_);
  for (std::uint8_t* const buffer : free_) {
    std::free(buffer);
  }
  made_ -= free_.size();
  free_.clear();
}

bool BufferPool::in_use() const {
  const std::lock_guard lock(mutex_);
  return made_ != 0;
}

std::size_t BufferPool::lent() const {
  const std::lock_guard lock(mutex_);
  return lent_;
}

}  // namespace carpool::gpu::inject
