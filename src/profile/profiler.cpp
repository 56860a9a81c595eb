#include "profile/profiler.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "profile/reduce.hpp"
#include "profile/steps/program_steps.hpp"
#include "profile/substitute_metrics.hpp"
#include "profile/watch/window_watch.hpp"

namespace carpool::profile {
namespace {

// One run of a program, from start to end.
class Run {
 public:
  Run(const ProfileRequest& request,
      WatchedProgram program,
      TelemetrySource& telemetry,
      const ProfileEvents& events)
      : request_(request),
        program_(std::move(program)),
        telemetry_(telemetry),
        events_(events),
        started_ns_(monotonic_ns()) {}

  [[nodiscard]] Result<ProfileResult> profile() {
    if (auto ready = wait_for_start(); !ready) {
      return tl::unexpected(ready.error());
    }
    const auto seen = watch_window(request_, program_, telemetry_, events_);
    if (!seen) {
      return tl::unexpected(seen.error());
    }
    program_.stop_recording();
    const auto slowdown = run_unwatched(*seen);
    if (!slowdown) {
      return tl::unexpected(slowdown.error());
    }
    return reduce(*seen, *slowdown);
  }

 private:
  Result<void> wait_for_start();
  // How much faster it ran without profiling; nothing where that is unknown.
  Result<std::optional<double>> run_unwatched(const SeenWindow& seen);
  Result<ProfileResult> reduce(const SeenWindow& seen, std::optional<double> slowdown);

  [[nodiscard]] ProgramSigns signs() {
    ProgramSigns out = program_.signs();
    if (out.launches == 0) {
      const auto sample = telemetry_.sample(request_.gpu.index);
      out.gpu_utilisation = sample ? sample->gpu_utilisation.value_or(0.0) : 0.0;
    }
    return out;
  }

  const ProfileRequest& request_;
  WatchedProgram program_;
  TelemetrySource& telemetry_;
  const ProfileEvents& events_;
  std::int64_t started_ns_;
};

Result<void> Run::wait_for_start() {
  StartupWatch startup;
  for (;;) {
    const std::int64_t now = monotonic_ns();
    const double seconds = seconds_between(started_ns_, now);
    if (events_.stop()) {
      return profile_stopped(request_);
    }
    if (const auto exit = program_.look(now); exit) {
      return fail(ErrorCode::Internal,
                  fmt::format("{} ended after {:.1f} s, before it {}: {}",
                              request_.name,
                              seconds,
                              startup.saw_work() || program_.signs().launches > 0 ? "had started up"
                                                                                  : "used the GPU",
                              program_.ending(*exit)));
    }
    if (startup.look(now, signs())) {
      return {};
    }
    if (seconds > request_.window.start_seconds) {
      return fail(
          ErrorCode::Internal,
          fmt::format("{} {} within {:.0f} s; raise the limit with --start-limit",
                      request_.name,
                      startup.saw_work() ? "did not keep the GPU busy" : "did not use the GPU",
                      request_.window.start_seconds));
    }
    events_.progress(fmt::format("starting up, {:.0f} s", seconds));
    pause_for(WatchedProgram::kLookEvery);
  }
}

// Right after the window and in the same process, so that only the profiling differs.
Result<std::optional<double>> Run::run_unwatched(const SeenWindow& seen) {
  const auto watched = steps_without_recording(program_, seen.window);
  if (request_.window.after_seconds <= 0.0 || seen.ended_itself || !watched) {
    return std::nullopt;
  }
  TimeWindow after{.start_ns = monotonic_ns(), .end_ns = monotonic_ns()};
  while (after.seconds() < request_.window.after_seconds) {
    if (events_.stop()) {
      return profile_stopped(request_);
    }
    if (program_.look(after.end_ns)) {
      return std::nullopt;  // it has ended by itself, which is not an error
    }
    events_.progress(fmt::format("running without profiling, {:.0f} s", after.seconds()));
    pause_for(WatchedProgram::kLookEvery);
    after.end_ns = monotonic_ns();
  }
  const auto unwatched = steps_without_recording(program_, after);
  if (unwatched && watched->steps_per_second > 0.0) {
    return unwatched->steps_per_second / watched->steps_per_second - 1.0;
  }
  return std::nullopt;
}

Result<ProfileResult> Run::reduce(const SeenWindow& seen, std::optional<double> slowdown) {
  ProfileResult result;
  WorkloadProfile& profile = result.profile;
  profile.workload = request_.name;
  profile.command = request_.program.command;
  profile.gpu = request_.gpu.name;
  profile.driver = request_.gpu.driver;
  profile.recorded = utc_timestamp();
  profile.startup_seconds = seconds_between(started_ns_, seen.window.start_ns);
  profile.window_seconds = seen.window.seconds();
  profile.slowdown = slowdown;
  program_.end();
  const auto traces = program_.traces();
  if (!traces) {
    return tl::unexpected(traces.error());
  }
  set_throughput(
      steps_by_all(program_, *traces, request_.program.injection.nvtx_range, seen.window), profile);
  result.kernels = add_recording(*traces, seen.window, profile);
  add_telemetry(seen.track, profile);
  if (seen.ended_itself) {
    profile.notes.emplace_back("the program ended within the window");
  } else {
    profile.metrics["xu_cpu_pct"] =
        100.0 * std::max(0.0, seen.use.cpu_seconds - seen.use_before.cpu_seconds) /
        seen.window.seconds();
    profile.metrics["xu_mainmem_pct"] = 100.0 * seen.use.memory_share;
  }
  if (!steps_without_recording(program_, seen.window) && seen.track.memory_changed()) {
    profile.notes.emplace_back(
        "its memory changed throughout the window: the window may cover part of its start-up");
  }
  if (request_.program.library && result.kernels.launches == 0) {
    profile.notes.emplace_back("no launch was recorded; metrics come from the GPU's counters");
  }
  add_substitute_metrics(profile);
  return result;
}

}  // namespace

Result<ProfileResult> profile_program(const ProfileRequest& request,
                                      TelemetrySource& telemetry,
                                      const ProfileEvents& events) {
  auto program = WatchedProgram::start(request.program);
  if (!program) {
    return tl::unexpected(program.error());
  }
  Run run(request, std::move(*program), telemetry, events);
  return run.profile();
}

}  // namespace carpool::profile
