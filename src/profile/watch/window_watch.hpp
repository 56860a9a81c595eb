// The stretch of a program's run that its profile is made of: opened once it has started up, closed
// when enough of it was seen. Internal to profile/.
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
  ProcessUse use;             // when the window closed
  bool ended_itself = false;  // the program did, within the window
};

// Errors: the program crashed or ended too early, its recording or the sensors cannot be read, or
// we were told to stop. The program must have started up.
[[nodiscard]] Result<SeenWindow> watch_window(const ProfileRequest& request,
                                              WatchedProgram& program,
                                              TelemetrySource& telemetry,
                                              const ProfileEvents& events);

// The error of every phase of a run when we are told to stop.
[[nodiscard]] tl::unexpected<Error> profile_stopped(const ProfileRequest& request);

}  // namespace carpool::profile
