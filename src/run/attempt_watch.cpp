#include "run/attempt_watch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/process/process_table.hpp"
#include "run/claim_recovery.hpp"
#include "run/run_ending.hpp"
#include "run/supervisor/supervisor.hpp"

namespace carpool::run {
namespace {

constexpr double kInheritedPauseS = 1.0;
constexpr long kLookAgainNs = 250'000'000;

void signal_supervisor(const gpu::ProcessIdentity& supervisor, StopMode mode) {
  gpu::send_signal(supervisor, mode == StopMode::Ask ? kAskSignal : kKillSignal);
  gpu::send_signal(supervisor, SIGCONT);  // one that was stopped would not act on the signal
}

}  // namespace

AttemptWatch::AttemptWatch(const ProcessExecutorSettings& settings)
    : settings_(settings),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      boot_(boot_id()) {
  if (!settings_.clock) {
    settings_.clock = epoch_seconds;
  }
}

Result<AttemptWatch> AttemptWatch::open(const ProcessExecutorSettings& settings) {
  AttemptWatch watch(settings);
  if (!watch.epoll_.valid() || !watch.timer_.valid() || !watch.add_descriptor(watch.timer_.get())) {
    return fail(ErrorCode::Internal, fmt::format("watch processes: {}", last_error()));
  }
  return watch;
}

bool AttemptWatch::add_descriptor(int descriptor) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

gpu::Liveness AttemptWatch::watch_process(Watched& entry, pid_t pid) const {
  if (pid <= 0) {
    return gpu::Liveness::Ended;
  }
  entry.handle = open_pidfd(pid);
  if (!entry.handle.valid()) {
    return errno == ESRCH ? gpu::Liveness::Ended : gpu::Liveness::Unknown;
  }
  if (!add_descriptor(entry.handle.get())) {
    entry.handle.reset();
    return gpu::Liveness::Unknown;
  }
  return gpu::Liveness::Alive;
}

gpu::Liveness AttemptWatch::watch_supervisor(Watched& entry) const {
  gpu::Liveness seen = watch_process(entry, entry.claim.supervisor.pid);
  if (seen == gpu::Liveness::Alive) {
    // The PID may belong to another process by now; then the supervisor has ended.
    seen = gpu::liveness_of(entry.claim.supervisor);
  }
  if (seen != gpu::Liveness::Alive) {
    entry.handle.reset();
  }
  return seen;
}

// A boot that cannot be told counts as this one: what is left of it is looked for then.
bool AttemptWatch::is_this_boot(const RunClaim& claim) const {
  return claim.boot == boot_ || claim.boot.empty() || boot_.empty();
}

// A job that was refused memory says that the GPU is full, and cannot know better.
Result<RunExit> AttemptWatch::conclusion(RunId run,
                                         const RunFolder& folder,
                                         const RunClaim& claim) const {
  const EndedRun ended{folder, claim.journal, is_this_boot(claim)};
  return conclude(ended, settings_.clock).map([&](RunExit exit) {
    const bool refused = exit.end == RunEnd::OutOfMemory && settings_.refused;
    exit.end = refused && settings_.refused(run) ? RunEnd::OverCap : exit.end;
    return exit;
  });
}

void AttemptWatch::add_started(RunId run, const RunFolder& folder, Starter starter) {
  Watched entry{.run = run, .folder = folder, .starter = std::move(starter)};
  if (watch_process(entry, entry.starter.pid) != gpu::Liveness::Alive) {
    look_again_soon(true);
  }
  watched_.insert_or_assign(run, std::move(entry));
}

Result<FoundRun> AttemptWatch::add_found(RunId run,
                                         const RunFolder& folder,
                                         const RunClaim& claim) {
  Watched entry{
      .run = run, .folder = folder, .stage = Stage::Running, .starter = Starter{}, .claim = claim};
  const gpu::Liveness seen = is_this_boot(claim) ? watch_supervisor(entry) : gpu::Liveness::Ended;
  switch (seen) {
    case gpu::Liveness::Alive:
      if (const auto paused = folder.pause(); !paused || *paused) {
        entry.inherited_pause_s = boot_seconds() + kInheritedPauseS;
      }
      watched_.insert_or_assign(run, std::move(entry));
      return FoundRun{.state = FoundRun::State::Running};
    case gpu::Liveness::Unknown:
      return fail(ErrorCode::Internal,
                  fmt::format("the supervisor of {} cannot be watched now: {}",
                              folder.path().string(),
                              last_error()));
    case gpu::Liveness::Ended:
      break;
  }
  return conclusion(run, folder, claim).map([](RunExit exit) {
    return FoundRun{.state = FoundRun::State::Ended, .exit = std::move(exit)};
  });
}

void AttemptWatch::stop(RunId run, StopMode mode) {
  const auto found = watched_.find(run);
  if (found == watched_.end()) {
    return;
  }
  Watched& entry = found->second;
  entry.stop = mode;
  resume(entry);
  if (mode == StopMode::Kill) {
    entry.kill_watch.begin();
  }
  if (entry.stage >= Stage::Following) {
    signal_supervisor(entry.claim.supervisor, mode);
  } else if (const auto claim = entry.folder.claimed(); claim && *claim && !(*claim)->abandoned) {
    signal_supervisor((*claim)->supervisor, mode);  // it has begun, or waits for its MPS daemon
  }
}

AttemptWatch::Step AttemptWatch::report_end(const Watched& entry, RunExit exit) {
  reports_.push_back({RunReport::Kind::Ended, entry.run, std::move(exit)});
  return Step::Over;
}

AttemptWatch::Step AttemptWatch::await_starter(Watched& entry) const {
  if (::waitpid(entry.starter.pid, nullptr, WNOHANG) != 0) {
    entry.handle.reset();
    return Step::Next;
  }
  if (!entry.handle.valid()) {
    watch_process(entry, entry.starter.pid);
  }
  return entry.handle.valid() ? Step::Stays : Step::Again;
}

AttemptWatch::Step AttemptWatch::decide(Watched& entry) {
  // What the supervisor says before it ends is certain: it does not begin later.
  if (const std::optional<StartTrouble> told = told_by(entry.starter)) {
    return report_end(entry, exit_of(*told, settings_.clock()));
  }
  // If the attempt is not claimed yet, this claim keeps any supervisor from beginning it.
  Result<std::optional<RunClaim>> claim =
      entry.folder.claim({.abandoned = true, .boot = boot_, .journal = settings_.journal})
          .and_then([&](bool) { return entry.folder.claimed(); });
  if (!claim && claim.error().code == ErrorCode::Corrupt) {
    claim = recovered_claim(entry.folder, settings_.journal, boot_);
  }
  if (!claim || !*claim) {
    entry.held_up = claim ? "its claim is gone" : claim.error().message;
    return Step::Again;
  }
  if ((*claim)->abandoned) {
    return report_end(
        entry,
        exit_of({TroubleScope::Job, "the supervisor was killed before it began the attempt"},
                settings_.clock()));
  }
  entry.starter.words.reset();
  entry.claim = **claim;
  return Step::Next;
}

AttemptWatch::Step AttemptWatch::follow(Watched& entry) {
  switch (watch_supervisor(entry)) {
    case gpu::Liveness::Ended:
      entry.stage = Stage::Ending;
      return end(entry);
    case gpu::Liveness::Unknown:
      entry.held_up = "its supervisor cannot be watched now";
      return Step::Again;
    case gpu::Liveness::Alive:
      break;
  }
  reports_.push_back({RunReport::Kind::Running, entry.run, {}});
  if (entry.stop) {
    signal_supervisor(entry.claim.supervisor, *entry.stop);
  }
  return Step::Next;
}

AttemptWatch::Step AttemptWatch::end(Watched& entry) {
  entry.handle.reset();
  Result<RunExit> exit = conclusion(entry.run, entry.folder, entry.claim);
  if (!exit) {
    entry.held_up = exit.error().message;
    return Step::Again;
  }
  return report_end(entry, std::move(*exit));
}

AttemptWatch::Step AttemptWatch::step(Watched& entry) {
  switch (entry.stage) {
    case Stage::Starting:
      return await_starter(entry);
    case Stage::Deciding:
      return decide(entry);
    case Stage::Following:
      return follow(entry);
    case Stage::Running:
      return Step::Next;
    case Stage::Ending:
      break;
  }
  return end(entry);
}

// The watched process has ended, or an earlier step failed. False: the attempt has ended.
bool AttemptWatch::advance(Watched& entry) {
  const std::string before = std::exchange(entry.held_up, {});
  Step done = step(entry);
  while (done == Step::Next) {
    entry.stage = static_cast<Stage>(static_cast<int>(entry.stage) + 1);
    if (entry.stage == Stage::Running) {
      return true;
    }
    done = step(entry);
  }
  if (done == Step::Again && entry.held_up != before) {
    log_warning(fmt::format(
        "attempt {}.{}: {}; Carpool tries again", entry.run.job, entry.run.attempt, entry.held_up));
  }
  return done != Step::Over;
}

std::vector<int> AttemptWatch::readable() const {
  std::vector<int> found;
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  found.reserve(static_cast<std::size_t>(std::max(count, 0)));
  for (int i = 0; i < count; ++i) {
    found.push_back(events[static_cast<std::size_t>(i)].data.fd);
  }
  return found;
}

void AttemptWatch::look_again_soon(bool armed) const {
  itimerspec when{};
  when.it_value.tv_nsec = armed ? kLookAgainNs : 0;
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

std::vector<RunReport> AttemptWatch::take_reports() {
  bool again = false;
  std::vector<int> over = readable();
  do {
    again = false;
    for (auto entry = watched_.begin(); entry != watched_.end();) {
      Watched& run = entry->second;
      run.kill_watch.look(run.folder);
      if (run.inherited_pause_s && boot_seconds() > *run.inherited_pause_s) {
        resume(run);
      }
      const bool ended =
          run.handle.valid() && std::ranges::find(over, run.handle.get()) != over.end();
      const bool due = ended || !run.handle.valid();
      const bool goes_on = !due || advance(run);
      again = again || (goes_on && !run.handle.valid());
      entry = goes_on ? std::next(entry) : watched_.erase(entry);
    }
    over = readable();
    std::erase(over, timer_.get());
  } while (!over.empty());
  look_again_soon(again);  // or not any more
  return std::exchange(reports_, {});
}

std::vector<RunningJob> AttemptWatch::running() {
  std::vector<RunningJob> found;
  for (auto& [run, entry] : watched_) {
    if (entry.stage < Stage::Following) {
      continue;
    }
    if (entry.session == 0) {
      const auto leader = entry.folder.leader();
      entry.session = leader && *leader ? (*leader)->pid : 0;
    }
    if (entry.session != 0) {
      found.push_back({run, entry.claim.supervisor.pid, entry.session});
    }
  }
  return found;
}

}  // namespace carpool::run
