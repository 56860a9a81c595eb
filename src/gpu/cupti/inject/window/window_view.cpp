#include "gpu/cupti/inject/window/window_view.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace carpool::gpu::inject {

bool WindowView::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) {
    return false;
  }
  struct stat status = {};
  void* memory = MAP_FAILED;
  if (::fstat(file, &status) == 0 &&
      static_cast<std::size_t>(status.st_size) >= sizeof(window_format::Block)) {
    memory =
        ::mmap(nullptr, sizeof(window_format::Block), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  ::close(file);
  if (memory == MAP_FAILED) {
    return false;
  }
  auto* block = static_cast<window_format::Block*>(memory);
  if (block->magic != window_format::kMagic || block->version != window_format::kVersion) {
    ::munmap(memory, sizeof(window_format::Block));
    return false;
  }
  block_ = block;
  return true;
}

WindowView::Order WindowView::order() const {
  const std::uint32_t number = block_->order.number.load(std::memory_order_acquire);
  return {.number = number,
          .length_ms = std::min(block_->order.length_ms, window_format::kLongestMs),
          .start_ns = block_->order.start_ns,
          .kind = static_cast<window_format::Kind>(block_->order.kind)};
}

// A free slot, else that of a process that has ended without leaving.
window_format::Slot* WindowView::take_slot() {
  const auto self = static_cast<std::uint32_t>(::getpid());
  for (const bool of_the_dead : {false, true}) {
    for (window_format::Slot& slot : block_->slots) {
      std::uint32_t holder = slot.pid.load(std::memory_order_acquire);
      const bool dead =
          holder != 0 &&
          (holder == self || (::kill(static_cast<pid_t>(holder), 0) != 0 && errno == ESRCH));
      if ((of_the_dead ? dead : holder == 0) && slot.pid.compare_exchange_strong(holder, self)) {
        return &slot;
      }
    }
  }
  return nullptr;
}

void WindowView::answer(std::uint32_t window, const Answer& answer) {
  slot_ = slot_ != nullptr ? slot_ : take_slot();
  if (slot_ == nullptr) {
    return;
  }
  slot_->state.store(static_cast<std::uint32_t>(window_format::State::None),
                     std::memory_order_relaxed);
  // No part of the new answer is seen beside the old state.
  std::atomic_thread_fence(std::memory_order_release);
  slot_->window = window;
  slot_->code = answer.code;
  slot_->launches = answer.launches;
  slot_->over_ns = answer.over_ns;
  slot_->kernels = answer.kernels;
  slot_->state.store(static_cast<std::uint32_t>(answer.state), std::memory_order_release);
}

void WindowView::leave() {
  if (slot_ != nullptr) {
    slot_->pid.store(0, std::memory_order_release);
    slot_ = nullptr;
  }
}

}  // namespace carpool::gpu::inject
