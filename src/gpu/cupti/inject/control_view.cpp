#include "gpu/cupti/inject/control_view.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace carpool::gpu::inject {

namespace format = activity_format;

void ControlView::open(const std::string& folder) {
  const std::string path = folder + "/" + format::kControlFile;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return;
  }
  struct stat status = {};
  void* memory = MAP_FAILED;
  if (::fstat(file, &status) == 0 &&
      static_cast<std::size_t>(status.st_size) >= sizeof(format::ControlBlock)) {
    memory =
        ::mmap(nullptr, sizeof(format::ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  ::close(file);
  if (memory == MAP_FAILED) {
    return;
  }
  auto* block = static_cast<format::ControlBlock*>(memory);
  if (block->magic == format::kControlMagic && block->version == format::kVersion) {
    block_ = block;
  } else {
    ::munmap(memory, sizeof(format::ControlBlock));
  }
}

format::Order ControlView::order() const {
  if (block_ == nullptr) {
    return format::Order::Record;
  }
  switch (block_->order.load(std::memory_order_acquire)) {
    case static_cast<std::uint32_t>(format::Order::Wait):
      return format::Order::Wait;
    case static_cast<std::uint32_t>(format::Order::Record):
      return format::Order::Record;
    default:
      return format::Order::Stop;
  }
}

void ControlView::attached() {
  if (block_ != nullptr) {
    block_->attached.fetch_add(1, std::memory_order_acq_rel);
  }
}

void ControlView::recording(bool on) {
  if (block_ != nullptr) {
    // Adding the largest number subtracts one.
    block_->recording.fetch_add(on ? 1U : UINT32_MAX, std::memory_order_acq_rel);
  }
}

void ControlView::ended() {
  if (block_ != nullptr) {
    block_->ended.fetch_add(1, std::memory_order_acq_rel);
  }
}

void ControlView::launches(std::uint64_t more, std::int64_t last_start_ns) {
  if (block_ == nullptr || more == 0) {
    return;
  }
  block_->launches.fetch_add(more, std::memory_order_acq_rel);
  std::int64_t before = block_->last_launch.load(std::memory_order_relaxed);
  while (before < last_start_ns &&
         !block_->last_launch.compare_exchange_weak(before, last_start_ns)) {
  }
}

}  // namespace carpool::gpu::inject
