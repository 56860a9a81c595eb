// Pauses of the attempts that are watched.
#include <fmt/format.h>

#include "base/log.hpp"
#include "run/attempt_watch.hpp"
#include "run/job_pause.hpp"

namespace carpool::run {

void AttemptWatch::pause(RunId run) {
  const auto found = watched_.find(run);
  if (found == watched_.end() || found->second.stop) {
    return;
  }
  found->second.inherited_pause_s.reset();
  if (const auto asked = request_pause(found->second.folder, settings_.journal); !asked) {
    log_warning(fmt::format(
        "attempt {}.{} is not paused: {}", run.job, run.attempt, asked.error().message));
  }
}

void AttemptWatch::resume(Watched& entry) {
  entry.inherited_pause_s.reset();
  if (const auto withdrawn = withdraw_pause(entry.folder); !withdrawn) {
    log_warning(fmt::format("attempt {}.{} stays paused: {}",
                            entry.run.job,
                            entry.run.attempt,
                            withdrawn.error().message));
  }
}

void AttemptWatch::resume(RunId run) {
  if (const auto found = watched_.find(run); found != watched_.end()) {
    resume(found->second);
  }
}

void AttemptWatch::resume_all() {
  for (auto& [run, entry] : watched_) {
    if (const auto paused = entry.folder.pause(); !paused || *paused) {
      resume(entry);
    }
  }
}

}  // namespace carpool::run
