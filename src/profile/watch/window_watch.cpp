#include "profile/watch/window_watch.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "profile/steps/program_steps.hpp"

namespace carpool::profile {
namespace {

constexpr std::int64_t kReadEvery = 200'000'000;        // ns, sensors
constexpr std::int64_t kConsiderEvery = 2'000'000'000;  // ns, check whether the window can close
// A program that ends by itself has run long enough after this share of the requested window.
constexpr double kEnoughOfWindow = 1.0 / 3.0;
// Time for a program that reports no steps to settle.
constexpr double kSettleSeconds = 20.0;

// The window while it is open.
class WindowWatch {
 public:
  WindowWatch(const ProfileRequest& request,
              WatchedProgram& program,
              TelemetrySource& telemetry,
              const ProfileEvents& events)
      : request_(request),
        program_(program),
        events_(events),
        seen_{.window = {},
              .track = TelemetryTrack(telemetry, request.gpu.index),
              .use_before = {},
              .use = {}} {}

  [[nodiscard]] Result<SeenWindow> run() {
    if (auto watched = watch(); !watched) {
      return tl::unexpected(watched.error());
    }
    seen_.use = process_use(program_.pid());
    return std::move(seen_);
  }

 private:
  Result<void> watch();
  Result<void> open_window();
  Result<void> open_again_if_early();
  Result<void> read_sensors(std::int64_t now);
  [[nodiscard]] std::optional<Result<void>> ended(std::int64_t now);
  [[nodiscard]] Result<bool> enough(std::int64_t now);
  [[nodiscard]] bool settled() const;
  [[nodiscard]] std::optional<StepEstimate> reported() const {
    return steps_without_recording(program_, seen_.window);
  }

  const ProfileRequest& request_;
  WatchedProgram& program_;
  const ProfileEvents& events_;
  SeenWindow seen_;
  std::int64_t first_window_ns_ = 0;
  bool reported_steps_ = false;  // when the window opened
  std::int64_t next_reading_ns_ = 0;
  std::int64_t next_thought_ns_ = 0;
};

Result<void> WindowWatch::open_window() {
  seen_.window.start_ns = monotonic_ns();
  reported_steps_ = program_.signs().reports_steps;
  seen_.use_before = process_use(program_.pid());
  next_reading_ns_ = seen_.window.start_ns + kReadEvery;
  next_thought_ns_ =
      seen_.window.start_ns + static_cast<std::int64_t>(request_.window.least_seconds * 1e9);
  return seen_.track.begin(seen_.window.start_ns);
}

// Cheap sources of steps first; launches are read only if there is no other.
Result<bool> WindowWatch::enough(std::int64_t now) {
  seen_.window.end_ns = now;
  if (seen_.window.seconds() >= request_.window.most_seconds) {
    return true;
  }
  if (now < next_thought_ns_ || seen_.window.seconds() < request_.window.least_seconds) {
    return false;
  }
  next_thought_ns_ = now + kConsiderEvery;
  std::optional<StepEstimate> steps = reported();
  if (!steps) {
    const auto traces = program_.traces();
    if (!traces) {
      return tl::unexpected(traces.error());
    }
    const std::vector<StepEstimate> found =
        steps_by_all(program_, *traces, request_.program.injection.nvtx_range, seen_.window);
    if (!found.empty() && found.front().confidence >= kSure) {
      steps = found.front();
    }
  }
  if (steps && steps->steps < request_.window.least_steps && steps->steps_per_second > 0.0) {
    const double missing = (request_.window.least_steps - steps->steps) / steps->steps_per_second;
    next_thought_ns_ = now + static_cast<std::int64_t>(missing * 1e9);
  }
  return steps && steps->steps >= request_.window.least_steps;
}

// Nothing while it runs; else whether the window was long enough.
std::optional<Result<void>> WindowWatch::ended(std::int64_t now) {
  const auto exit = program_.look(now);
  if (!exit) {
    return std::nullopt;
  }
  seen_.window.end_ns = now;
  if (!exit->ok() || seen_.window.seconds() < kEnoughOfWindow * request_.window.least_seconds) {
    return fail(ErrorCode::Internal,
                fmt::format("{} ended after {:.1f} s of the {:.1f} s to profile: {}",
                            request_.name,
                            seen_.window.seconds(),
                            request_.window.least_seconds,
                            program_.ending(*exit)));
  }
  seen_.ended_itself = true;
  return Result<void>();
}

Result<void> WindowWatch::read_sensors(std::int64_t now) {
  if (now < next_reading_ns_) {
    return {};
  }
  next_reading_ns_ += kReadEvery;
  events_.progress(fmt::format("watching, {:.1f} s", seconds_between(seen_.window.start_ns, now)));
  return seen_.track.take(now, program_.pid());
}

// The program reports its first step only now: the window so far was its start-up.
Result<void> WindowWatch::open_again_if_early() {
  const ProgramSigns signs = program_.signs();
  const bool early = signs.reports_steps && !reported_steps_ && signs.steps > 1;
  return early ? open_window() : Result<void>();
}

// A program whose memory still changes is starting up, however regular its launches: it may be
// loading the weights of a large model layer by layer.
bool WindowWatch::settled() const {
  return !seen_.track.memory_changed() || reported() ||
         seconds_between(first_window_ns_, seen_.window.end_ns) > kSettleSeconds;
}

Result<void> WindowWatch::watch() {
  if (auto opened = open_window(); !opened) {
    return opened;
  }
  first_window_ns_ = seen_.window.start_ns;
  for (;;) {
    if (events_.stop()) {
      return profile_stopped(request_);
    }
    if (auto opened = open_again_if_early(); !opened) {
      return opened;
    }
    const std::int64_t now = monotonic_ns();
    if (auto over = ended(now); over) {
      return std::move(*over);
    }
    if (auto taken = read_sensors(now); !taken) {
      return taken;
    }
    const auto seen = enough(now);
    if (!seen || (*seen && settled())) {
      return seen.map([](bool) {});
    }
    if (*seen) {
      if (auto opened = open_window(); !opened) {
        return opened;
      }
    }
    pause_for(WatchedProgram::kLookEvery);
  }
}

}  // namespace

Result<SeenWindow> watch_window(const ProfileRequest& request,
                                WatchedProgram& program,
                                TelemetrySource& telemetry,
                                const ProfileEvents& events) {
  return WindowWatch(request, program, telemetry, events).run();
}

tl::unexpected<Error> profile_stopped(const ProfileRequest& request) {
  return fail(ErrorCode::Internal,
              fmt::format("stopped before the profile of {} was complete; nothing was written",
                          request.name));
}

}  // namespace carpool::profile
