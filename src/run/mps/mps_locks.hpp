// Locks that supervisors share for one MPS daemon. Their files have mode 0600 and lie in a folder
// that only the user of the server can enter, so no other user can hold one. A wait ends at a
// deadline, and when the server asks to stop the job.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "run/start_trouble.hpp"

namespace carpool::run {

using StopHeard = std::function<bool()>;

class StartWait {
 public:
  StartWait(StopHeard stop_heard, std::chrono::nanoseconds limit);

  // Trouble when the wait is over; `what` is what did not happen in time.
  [[nodiscard]] Started<void> check(TroubleScope scope, std::string_view what) const;

 private:
  StopHeard stop_heard_;
  std::int64_t deadline_ns_;
};

[[nodiscard]] Result<Descriptor> open_mps_lock(const std::filesystem::path& file);

// `operation`: LOCK_SH or LOCK_EX.
[[nodiscard]] Started<Descriptor> lock_mps(const std::filesystem::path& file,
                                           int operation,
                                           const StartWait& wait);

// False: another process holds it, or it cannot be locked now.
[[nodiscard]] bool try_lock(const Descriptor& file, int operation);

}  // namespace carpool::run
