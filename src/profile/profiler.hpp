// Profiles a command: runs it as the only job of a GPU, waits until it has started up, watches a
// window, and ends it.
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

// The window closes after `least_steps` and `least_seconds`, or after `most_seconds`.
struct ProfileWindow {
  double least_steps = 20.0;
  double least_seconds = 3.0;
  double most_seconds = 10.0;
  double start_seconds = 300.0;  // limit for its start-up
  double after_seconds = 0.0;    // without profiling afterwards, to measure the slowdown
};

struct ProfileRequest {
  std::string name;
  GpuInfo gpu;
  ProgramRequest program;
  ProfileWindow window;
};

struct ProfileEvents {
  std::function<bool()> stop;                        // polled; true ends the program and gives up
  std::function<void(const std::string&)> progress;  // current phase, a few times a second
};

struct ProfileResult {
  WorkloadProfile profile;
  KernelTable kernels;  // empty when no launches were recorded
};

// Fails if the program crashed, ended too early or never used the GPU (with its last line of
// output), or after a stop request. The program has then ended.
[[nodiscard]] Result<ProfileResult> profile_program(const ProfileRequest& request,
                                                    TelemetrySource& telemetry,
                                                    const ProfileEvents& events);

}  // namespace carpool::profile
