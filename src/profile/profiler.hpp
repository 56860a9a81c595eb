// From a command to a profile: runs it alone on a GPU, waits until it has started up, watches a
// window of it, ends it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/gpu.hpp"
#include "core/telemetry_source.hpp"
#include "profile/kernel_table.hpp"
#include "profile/watch/watched_program.hpp"
#include "profile/workload_profile.hpp"

namespace carpool::profile {

// How much of the program is seen: at least so many steps and seconds, then no more; at most so
// many seconds.
struct ProfileWindow {
  double least_steps = 20.0;
  double least_seconds = 3.0;
  double most_seconds = 10.0;
  double start_seconds = 300.0;  // for its start-up
  double after_seconds = 0.0;    // then unwatched, to see how much the watching slowed it down
};

struct ProfileRequest {
  std::string name;
  GpuInfo gpu;
  ProgramRequest program;
  ProfileWindow window;
};

struct ProfileEvents {
  std::function<bool()> stop;                        // asked often; true: end it and give up
  std::function<void(const std::string&)> progress;  // what happens now, a few times a second
};

struct ProfileResult {
  WorkloadProfile profile;
  KernelTable kernels;  // empty when no launches were recorded
};

// Errors: the program crashed, ended too early or never used the GPU (with its last words), or we
// were told to stop. Nothing of it runs any more then.
[[nodiscard]] Result<ProfileResult> profile_program(const ProfileRequest& request,
                                                    TelemetrySource& telemetry,
                                                    const ProfileEvents& events);

}  // namespace carpool::profile
