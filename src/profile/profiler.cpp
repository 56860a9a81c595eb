#include "profile/profiler.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "profile/process_use.hpp"
#include "profile/program_steps.hpp"
#include "profile/reduce.hpp"
#include "profile/stand_ins.hpp"

namespace carpool {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};
constexpr std::int64_t kReadEvery = 200'000'000;        // ns, sensors
constexpr std::int64_t kConsiderEvery = 2'000'000'000;  // ns, whether enough was seen
// A program that ends by itself has shown enough after this part of what was asked for.
constexpr double kEnoughOfWindow = 1.0 / 3.0;
// A program that says nothing of its steps may take so long to settle.
constexpr double kSettleSeconds = 20.0;

std::string exit_text(const ExitStatus& status, const std::string& last_words) {
  return last_words.empty() ? status.text() : fmt::format("{}: {}", status.text(), last_words);
}

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
        track_(telemetry, request.gpu.index),
        events_(events),
        started_ns_(monotonic_ns()) {}

  [[nodiscard]] Result<ProfileResult> profile() {
    if (auto ready = wait_for_start(); !ready) {
      return tl::unexpected(ready.error());
    }
    if (auto seen = watch(); !seen) {
      return tl::unexpected(seen.error());
    }
    use_ = process_use(program_.pid());
    program_.stop_recording();
    if (auto compared = run_unwatched(); !compared) {
      return tl::unexpected(compared.error());
    }
    return reduce();
  }

 private:
  Result<void> wait_for_start();
  Result<void> watch();
  Result<void> run_unwatched();
  Result<void> open_window();
  Result<void> open_again_if_early();
  Result<void> read_sensors(std::int64_t now);
  [[nodiscard]] std::optional<Result<void>> ended(std::int64_t now);
  [[nodiscard]] Result<bool> enough(std::int64_t now);
  [[nodiscard]] bool settled() const;
  [[nodiscard]] std::optional<StepEstimate> told(const TimeWindow& window) const {
    return steps_without_recording(program_, window);
  }
  [[nodiscard]] std::vector<StepEstimate> estimates(std::span<const ActivityTrace> traces) const {
    return steps_by_all(program_, traces, request_.program.injection.nvtx_range, window_);
  }
  Result<ProfileResult> reduce();

  // Seconds since then.
  static double since(std::int64_t then_ns, std::int64_t now_ns) {
    return static_cast<double>(now_ns - then_ns) * 1e-9;
  }
  [[nodiscard]] tl::unexpected<Error> stopped() const {
    return fail(ErrorCode::Internal,
                fmt::format("stopped before the profile of {} was complete; nothing was written",
                            request_.name));
  }
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
  TelemetryTrack track_;
  const ProfileEvents& events_;
  std::int64_t started_ns_;
  TimeWindow window_;
  std::int64_t first_window_ns_ = 0;
  ProcessUse use_before_;
  ProcessUse use_;           // when the window closed
  bool told_steps_ = false;  // when the window opened
  bool ended_itself_ = false;
  std::optional<double> slowdown_;
  std::int64_t next_reading_ns_ = 0;
  std::int64_t next_thought_ns_ = 0;
};

Result<void> Run::wait_for_start() {
  StartupWatch startup;
  for (;;) {
    const std::int64_t now = monotonic_ns();
    const double seconds = since(started_ns_, now);
    if (events_.stop()) {
      return stopped();
    }
    if (const auto exit = program_.look(now); exit) {
      return fail(ErrorCode::Internal,
                  fmt::format("{} ended after {:.1f} s, before it {}: {}",
                              request_.name,
                              seconds,
                              startup.saw_work() || program_.signs().launches > 0 ? "had started up"
                                                                                  : "used the GPU",
                              exit_text(*exit, program_.last_words())));
    }
    if (startup.look(now, signs())) {
      return {};
    }
    if (seconds > request_.window.start_seconds) {
      return fail(
          ErrorCode::Internal,
          fmt::format("{} {} within {:.0f} s; --start-limit gives it longer",
                      request_.name,
                      startup.saw_work() ? "did not keep the GPU at work" : "did not use the GPU",
                      request_.window.start_seconds));
    }
    events_.progress(fmt::format("starting up, {:.0f} s", seconds));
    pause_for(kLookEvery);
  }
}

Result<void> Run::open_window() {
  window_.start_ns = monotonic_ns();
  told_steps_ = program_.signs().tells_steps;
  use_before_ = process_use(program_.pid());
  next_reading_ns_ = window_.start_ns + kReadEvery;
  next_thought_ns_ =
      window_.start_ns + static_cast<std::int64_t>(request_.window.least_seconds * 1e9);
  return track_.begin(window_.start_ns);
}

// Step sources that cost nothing are asked first; the launches are read only when there is no
// other.
Result<bool> Run::enough(std::int64_t now) {
  window_.end_ns = now;
  if (window_.seconds() >= request_.window.most_seconds) {
    return true;
  }
  if (now < next_thought_ns_ || window_.seconds() < request_.window.least_seconds) {
    return false;
  }
  next_thought_ns_ = now + kConsiderEvery;
  std::optional<StepEstimate> steps = told(window_);
  if (!steps) {
    const auto traces = program_.traces();
    if (!traces) {
      return tl::unexpected(traces.error());
    }
    const std::vector<StepEstimate> found = estimates(*traces);
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

// Nothing while it runs; else whether what was seen of it will do.
std::optional<Result<void>> Run::ended(std::int64_t now) {
  const auto exit = program_.look(now);
  if (!exit) {
    return std::nullopt;
  }
  window_.end_ns = now;
  if (!exit->ok() || window_.seconds() < kEnoughOfWindow * request_.window.least_seconds) {
    return fail(ErrorCode::Internal,
                fmt::format("{} ended after {:.1f} s of {:.1f} s that were to be seen: {}",
                            request_.name,
                            window_.seconds(),
                            request_.window.least_seconds,
                            exit_text(*exit, program_.last_words())));
  }
  ended_itself_ = true;
  return Result<void>();
}

Result<void> Run::read_sensors(std::int64_t now) {
  if (now < next_reading_ns_) {
    return {};
  }
  next_reading_ns_ += kReadEvery;
  events_.progress(fmt::format("watching, {:.1f} s", since(window_.start_ns, now)));
  return track_.take(now, program_.pid());
}

// What looked like the work of a program that tells of steps was its start-up.
Result<void> Run::open_again_if_early() {
  const ProgramSigns signs = program_.signs();
  const bool early = signs.tells_steps && !told_steps_ && signs.steps > 1;
  return early ? open_window() : Result<void>();
}

// One that still takes and gives back memory builds what it will work with, however regularly: a
// large model's weights, layer by layer.
bool Run::settled() const {
  return !track_.memory_changed() || told(window_) ||
         since(first_window_ns_, window_.end_ns) > kSettleSeconds;
}

Result<void> Run::watch() {
  if (auto opened = open_window(); !opened) {
    return opened;
  }
  first_window_ns_ = window_.start_ns;
  for (;;) {
    if (events_.stop()) {
      return stopped();
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
    pause_for(kLookEvery);
  }
}

// Right behind the window and in the same process: what differs is that nobody looks.
Result<void> Run::run_unwatched() {
  const auto watched = told(window_);
  if (request_.window.after_seconds <= 0.0 || ended_itself_ || !watched) {
    return {};
  }
  TimeWindow after{.start_ns = monotonic_ns(), .end_ns = monotonic_ns()};
  while (after.seconds() < request_.window.after_seconds) {
    if (events_.stop()) {
      return stopped();
    }
    if (program_.look(after.end_ns)) {
      return {};  // as long as it was asked to: that is no fault
    }
    events_.progress(fmt::format("going on unwatched, {:.0f} s", after.seconds()));
    pause_for(kLookEvery);
    after.end_ns = monotonic_ns();
  }
  const auto unwatched = told(after);
  if (unwatched && watched->steps_per_second > 0.0) {
    slowdown_ = unwatched->steps_per_second / watched->steps_per_second - 1.0;
  }
  return {};
}

Result<ProfileResult> Run::reduce() {
  ProfileResult result;
  WorkloadProfile& profile = result.profile;
  profile.workload = request_.name;
  profile.command = request_.program.command;
  profile.gpu = request_.gpu.name;
  profile.driver = request_.gpu.driver;
  profile.recorded = utc_timestamp();
  profile.startup_seconds = since(started_ns_, window_.start_ns);
  profile.window_seconds = window_.seconds();
  profile.slowdown = slowdown_;
  program_.end();
  const auto traces = program_.traces();
  if (!traces) {
    return tl::unexpected(traces.error());
  }
  set_throughput(estimates(*traces), profile);
  result.kernels = add_recording(*traces, window_, profile);
  add_telemetry(track_, profile);
  if (ended_itself_) {
    profile.notes.emplace_back("the program ended by itself within the window");
  } else {
    profile.metrics["xu_cpu_pct"] =
        100.0 * std::max(0.0, use_.cpu_seconds - use_before_.cpu_seconds) / window_.seconds();
    profile.metrics["xu_mainmem_pct"] = 100.0 * use_.memory_share;
  }
  if (!told(window_) && track_.memory_changed()) {
    profile.notes.emplace_back(
        "its memory changed all the time: this may be its start-up, or part of it");
  }
  if (request_.program.library && result.kernels.launches == 0) {
    profile.notes.emplace_back("no launch was recorded: the GPU's own counters stand in");
  }
  add_stand_ins(profile);
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

}  // namespace carpool
