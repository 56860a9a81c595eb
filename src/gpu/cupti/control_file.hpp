// The watcher's end of the control file (activity_format.hpp): says when to record, and sees who
// does.
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

// A control file of ours, made anew; the file is left to whoever removes the folder.
class ProfileControl {
 public:
  // In a folder that exists, with the first order given: Wait, to leave out the program's start.
  [[nodiscard]] static Result<ProfileControl> create(const std::filesystem::path& folder,
                                                     activity_format::Order first);

  ProfileControl(ProfileControl&& other) noexcept;
  ProfileControl& operator=(ProfileControl&& other) noexcept;
  ~ProfileControl();

  // Processes follow within a few milliseconds; what was in flight is written within the flush
  // period.
  void order(activity_format::Order order);
  [[nodiscard]] ProfileState state() const;

 private:
  explicit ProfileControl(activity_format::ControlBlock* block) : block_(block) {}
  activity_format::ControlBlock* block_ = nullptr;  // mapped; null: moved from
};

}  // namespace carpool::gpu
