#include "run/process_executor.hpp"

#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "run/attempt_watch.hpp"
#include "run/claim_recovery.hpp"
#include "run/mps/mps_sweeping.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor/supervisor_launch.hpp"

namespace carpool::run {
namespace {

StartTrouble foreign_folder(const RunFolder& folder, const RunClaim& claim) {
  return {TroubleScope::Job,
          fmt::format(
              "{} belongs to the journal {}; move it away", folder.path().string(), claim.journal)};
}

// An attempt begins in a folder of its own, or not at all.
Started<void> check_unused(const RunFolder& folder, const std::string& journal) {
  const Result<std::optional<RunClaim>> claim = folder.claimed();
  if (!claim && claim.error().code != ErrorCode::Corrupt) {
    return machine_trouble(TroubleScope::Machine, claim.error().message);
  }
  if (claim && !*claim) {
    return {};
  }
  if (claim && !is_of(**claim, journal)) {
    return tl::unexpected(foreign_folder(folder, **claim));
  }
  return machine_trouble(
      TroubleScope::Job,
      fmt::format("{} already holds an attempt; move it away", folder.path().string()));
}

}  // namespace

struct ProcessExecutor::State {
  ProcessExecutorSettings settings;
  AttemptWatch watch;
  [[nodiscard]] double now_s() const { return settings.clock ? settings.clock() : epoch_seconds(); }
};

ProcessExecutor::ProcessExecutor(std::unique_ptr<State> state) : state_(std::move(state)) {}

ProcessExecutor::~ProcessExecutor() = default;  // supervisors and jobs continue

Result<std::unique_ptr<ProcessExecutor>> ProcessExecutor::open(
    const ProcessExecutorSettings& settings) {
  for (const auto& folder : {settings.runs, settings.mps, mps_lock_folder(settings.mps)}) {
    if (const Result<void> made = make_private_folder(folder); !made) {
      return tl::unexpected(made.error());
    }
  }
  // Users reach the folder of their MPS daemon through it, and cannot list it.
  if (::geteuid() == 0 && ::chmod(settings.mps.c_str(), 0711) != 0) {
    return fail(ErrorCode::Internal,
                fmt::format("open {}: {}", settings.mps.string(), last_error()));
  }
  Result<AttemptWatch> watch = AttemptWatch::open(settings);
  if (!watch) {
    return tl::unexpected(watch.error());
  }
  sweep_mps_daemons(settings);
  return std::unique_ptr<ProcessExecutor>(
      new ProcessExecutor(std::make_unique<State>(State{settings, std::move(*watch)})));
}

Launched ProcessExecutor::launch(const LaunchSpec& spec) {
  const RunFolder folder = RunFolder::of(state_->settings.runs, spec.run);
  Started<Starter> starter = check_unused(folder, state_->settings.journal).and_then([&] {
    return start_supervisor(state_->settings, spec, folder);
  });
  if (!starter) {
    return tl::unexpected(exit_of(starter.error(), state_->now_s()));
  }
  state_->watch.add_started(spec.run, folder, std::move(*starter));
  return {};
}

void ProcessExecutor::stop(RunId run, StopMode mode) {
  state_->watch.stop(run, mode);
}

void ProcessExecutor::pause(RunId run) {
  state_->watch.pause(run);
}

void ProcessExecutor::resume(RunId run) {
  if (state_->settings.before_resume) {
    state_->settings.before_resume(run);
  }
  state_->watch.resume(run);
}

void ProcessExecutor::resume_all() {
  state_->watch.resume_all();
}

std::vector<RunReport> ProcessExecutor::take_reports() {
  return state_->watch.take_reports();
}

Result<FoundRun> ProcessExecutor::find(const LaunchSpec& spec) {
  const std::string& journal = state_->settings.journal;
  const std::string& boot = state_->watch.boot();
  const RunFolder folder = RunFolder::of(state_->settings.runs, spec.run);
  // If the attempt is not claimed yet, this claim keeps any supervisor from beginning it.
  const Result<bool> abandoned = folder.make().and_then(
      [&] { return folder.claim({.abandoned = true, .boot = boot, .journal = journal}); });
  if (!abandoned) {
    return tl::unexpected(abandoned.error());
  }
  Result<std::optional<RunClaim>> claim = folder.claimed();
  if (!claim && claim.error().code != ErrorCode::Corrupt) {
    return tl::unexpected(claim.error());
  }
  if (claim && *claim && !is_of(**claim, journal)) {
    return FoundRun{.state = FoundRun::State::Ended,
                    .exit = exit_of(foreign_folder(folder, **claim), state_->now_s())};
  }
  const bool removed = *abandoned && (folder.exit(journal).value_or(ExitRecord{}) ||
                                      folder.leader().value_or(gpu::ProcessIdentity{}));
  if (!claim || removed) {
    claim = recovered_claim(folder, journal, boot);
    if (!claim) {
      return tl::unexpected(claim.error());
    }
  }
  if (!*claim) {
    return fail(ErrorCode::Internal,
                fmt::format("the claim of {} is gone", folder.path().string()));
  }
  if ((*claim)->abandoned) {
    return FoundRun{.state = FoundRun::State::NeverBegan};
  }
  return state_->watch.add_found(spec.run, folder, **claim);
}

int ProcessExecutor::wake_descriptor() const {
  return state_->watch.descriptor();
}

std::vector<RunningJob> ProcessExecutor::running() const {
  return state_->watch.running();
}

}  // namespace carpool::run
