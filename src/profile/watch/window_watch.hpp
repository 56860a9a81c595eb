// Watches the window of a run that the profile covers. Internal to profile/.
#pragma once

#include "base/result.hpp"
#include "core/telemetry_source.hpp"
#include "profile/profiler.hpp"
#include "profile/steps/time_window.hpp"
#include "profile/watch/process_use.hpp"
#include "profile/watch/telemetry_track.hpp"
#include "profile/watch/watched_program.hpp"

namespace carpool::profile {

struct SeenWindow {
  TimeWindow window;
  TelemetryTrack track;
  ProcessUse use_before;
  ProcessUse use;             // at the end of the window
  bool ended_itself = false;  // the program ended within the window
};

// The program must have started up. Fails if it crashed or ended too early, its recording or the
// sensors cannot be read, or after a stop request.
[[nodiscard]] Result<SeenWindow> watch_window(const ProfileRequest& request,
                                              WatchedProgram& program,
                                              TelemetrySource& telemetry,
                                              const ProfileEvents& events);

// The error after a stop request, in each phase of a run.
[[nodiscard]] tl::unexpected<Error> profile_stopped(const ProfileRequest& request);

}  // namespace carpool::profile
