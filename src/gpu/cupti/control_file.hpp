// The watcher's side of the control file (activity_format.hpp): orders recording and shows which
// processes record.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.hpp"
#include "gpu/cupti/activity_format.hpp"

namespace carpool::gpu {

struct ProfileState {
  std::uint32_t attached = 0;   // processes that have used CUDA so far
  std::uint32_t recording = 0;  // processes that record now
  std::uint32_t ended = 0;      // processes that have ended their file
  std::uint64_t launches = 0;   // kernels recorded so far, all processes together
  std::int64_t last_launch_ns = 0;
};

// A new control file. The file is removed with its folder.
class ProfileControl {
 public:
  // In an existing folder. With the first order Wait the program's start is not recorded.
  [[nodiscard]] static Result<ProfileControl> create(const std::filesystem::path& folder,
                                                     activity_format::Order first);

  ProfileControl(ProfileControl&& other) noexcept;
  ProfileControl& operator=(ProfileControl&& other) noexcept;
  ~ProfileControl();

  // Processes follow within a few milliseconds; pending records are written within the flush
  // period.
  void order(activity_format::Order order);
  [[nodiscard]] ProfileState state() const;

 private:
  explicit ProfileControl(activity_format::ControlBlock* block) : block_(block) {}
  activity_format::ControlBlock* block_ = nullptr;  // mapped; null: moved from
};

}  // namespace carpool::gpu
