#include "gpu/cupti/control_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/process/descriptor.hpp"

namespace carpool::gpu {

namespace format = activity_format;

Result<ProfileControl> ProfileControl::create(const std::filesystem::path& folder,
                                              format::Order first) {
  const std::filesystem::path path = folder / format::kControlFile;
  const auto refused = [&](std::string_view what) {
    const int code = errno;
    return fail(
        ErrorCode::Internal,
        fmt::format("{} {}: {}", what, path.string(), std::generic_category().message(code)));
  };
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return refused("create the control file of the profiler");
  }
  if (::ftruncate(file.get(), sizeof(format::ControlBlock)) != 0) {
    return refused("set the size of");
  }
  void* memory = ::mmap(
      nullptr, sizeof(format::ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) {
    return refused("map");
  }
  auto* block = new (memory) format::ControlBlock;
  block->order.store(static_cast<std::uint32_t>(first), std::memory_order_release);
  return ProfileControl(block);
}

ProfileControl::ProfileControl(ProfileControl&& other) noexcept
    : block_(std::exchange(other.block_, nullptr)) {}

ProfileControl& ProfileControl::operator=(ProfileControl&& other) noexcept {
  std::swap(block_, other.block_);
  return *this;
}

ProfileControl::~ProfileControl() {
  if (block_ != nullptr) {
    ::munmap(block_, sizeof(format::ControlBlock));
  }
}

void ProfileControl::order(format::Order order) {
  block_->order.store(static_cast<std::uint32_t>(order), std::memory_order_release);
}

ProfileState ProfileControl::state() const {
  return {block_->attached.load(std::memory_order_acquire),
          block_->recording.load(std::memory_order_acquire),
          block_->ended.load(std::memory_order_acquire),
          block_->launches.load(std::memory_order_acquire),
          block_->last_launch.load(std::memory_order_acquire)};
}

}  // namespace carpool::gpu
