#include "schedule/runs/attempt_outcome.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/process/child_process.hpp"
#include "base/text/memory_size.hpp"

namespace carpool::schedule {
namespace {

// After this many faults of MPS servers a job runs without neighbours, suspected or not.
constexpr unsigned kFaultsBeforeAlone = 3;
// Losses of the supervisor alone: the job may be what makes the kernel kill it.
constexpr unsigned kMostLosses = 5;

std::string how(const RunExit& exit) {
  if (!exit.signal && !exit.code) {
    return exit.detail.empty() ? std::string("failed") : exit.detail;
  }
  const std::string status = ExitStatus{.code = exit.code, .signal = exit.signal}.text();
  // The detail of a job that printed nothing is its status again.
  return exit.detail.empty() || exit.detail == status ? status
                                                      : fmt::format("{}: {}", status, exit.detail);
}

std::string detail_or(const RunExit& exit, const char* words) {
  return exit.detail.empty() ? std::string(words) : exit.detail;
}

// It goes back to its place for more memory than was kept for it.
AttemptOutcome after_memory_stop(const JobRecord& job, const OutcomeRules& rules) {
  const bool often = job.ends(RunEnd::OverCap) >= kMostOverCap;
  const std::uint64_t next =
      often ? rules.gpu_bytes
            : std::min(job.stop_reserve_bytes.value_or(rules.gpu_bytes), rules.gpu_bytes);
  return JobRequeued{
      .reason = fmt::format("{}; the next attempt reserves {}", job.stop_reason, gib_text(next)),
      .reserve_bytes = next,
      .exclusive = next >= rules.gpu_bytes};
}

AttemptOutcome after_stop(const JobRecord& job, const RunExit& exit, const OutcomeRules& rules) {
  if (job.stop_by == kByMemory) {
    return exit.end == RunEnd::Succeeded ? AttemptOutcome(JobClosed{})
                                         : after_memory_stop(job, rules);
  }
  if (!job.stop_final) {
    return JobRequeued{.reason = fmt::format("requeued by {}", job.stop_by)};
  }
  if (job.stop_by == kByTimeLimit) {
    return JobClosed{.end = RunEnd::TimeLimit,
                     .reason = job.spec.time_s ? fmt::format("exceeded its time limit of {:g} s",
                                                             *job.spec.time_s)
                                               : detail_or(exit, "exceeded its time limit")};
  }
  return JobClosed{.end = RunEnd::Cancelled, .reason = fmt::format("cancelled by {}", job.stop_by)};
}

// Failed, or killed because the machine ran out of memory: repeated only if retries were requested.
AttemptOutcome after_failure(const JobRecord& job, const RunExit& exit) {
  const unsigned failures = job.ends(RunEnd::Failed) + job.ends(RunEnd::HostOutOfMemory);
  const std::string what = exit.end == RunEnd::HostOutOfMemory
                               ? detail_or(exit, "the machine ran out of memory")
                               : how(exit);
  if (failures <= job.spec.retries) {
    return JobRequeued{.reason =
                           fmt::format("{}; retry {} of {}", what, failures, job.spec.retries)};
  }
  return JobClosed{.end = exit.end, .reason = what};
}

std::string memory_words(const JobAttempt& attempt) {
  return attempt.start.reserved_bytes == 0 ? std::string("out of GPU memory")
                                           : fmt::format("out of GPU memory with {} reserved",
                                                         gib_text(attempt.start.reserved_bytes));
}

bool had_whole_gpu(const JobAttempt& attempt, std::uint64_t gpu_bytes) {
  return attempt.start.mechanism == ShareMechanism::None &&
         attempt.start.reserved_bytes >= gpu_bytes;
}

AttemptOutcome after_out_of_memory(const JobRecord& job, const OutcomeRules& rules) {
  const JobAttempt& last = job.attempts.back();
  const bool mps = last.start.mechanism == ShareMechanism::Mps;
  if (mps && job.spec.mem_limit_bytes &&
      reached_limit(last.exit, *job.spec.mem_limit_bytes, last.peak_bytes)) {
    return JobClosed{.end = RunEnd::OutOfMemory,
                     .reason = fmt::format("out of GPU memory at its own limit of {}",
                                           gib_text(*job.spec.mem_limit_bytes))};
  }
  if (rules.gpu_bytes > 0 && had_whole_gpu(last, rules.gpu_bytes)) {
    return JobClosed{.end = RunEnd::OutOfMemory,
                     .reason = fmt::format("out of GPU memory with a whole GPU ({})",
                                           gib_text(rules.gpu_bytes))};
  }
  if (job.out_of_memory >= rules.max_out_of_memory) {
    return JobClosed{
        .end = RunEnd::OutOfMemory,
        .reason = fmt::format("giving up after {} out-of-memory failures", job.out_of_memory)};
  }
  const std::uint64_t reserved = std::max(job.reserve_bytes.value_or(0), last.start.reserved_bytes);
  switch (rules.recovery) {
    case RecoveryRule::Carma:
      return JobRequeued{
          .reason = fmt::format("{}; the next attempt runs alone", memory_words(last)),
          .exclusive = true};
    case RecoveryRule::Aegis: {
      const std::uint64_t floor = next_floor(job.out_of_memory, reserved, rules.gpu_bytes);
      return JobRequeued{
          .reason = fmt::format(
              "{}; the next attempt starts where {} are free", memory_words(last), gib_text(floor)),
          .reserve_bytes = floor};
    }
    case RecoveryRule::Reserve:
      break;
  }
  const std::uint64_t next =
      next_reservation(last.exit, reserved, last.peak_bytes, rules.gpu_bytes);
  return JobRequeued{
      .reason = fmt::format("{}; the next attempt reserves {}", memory_words(last), gib_text(next)),
      .reserve_bytes = next,
      // A reservation of a whole GPU leaves no room for other jobs.
      .exclusive = next >= rules.gpu_bytes};
}

// The cap was the scheduler's guess: the job goes back to its place, with a larger one.
AttemptOutcome after_cap(const JobRecord& job, const OutcomeRules& rules) {
  const JobAttempt& last = job.attempts.back();
  const bool often = job.ends(RunEnd::OverCap) >= kMostOverCap;
  const std::uint64_t next = often ? rules.gpu_bytes
                                   : next_cap(last.exit,
                                              *last.start.cap_bytes,
                                              rules.gpu_bytes,
                                              std::max(job.processes(), job.cap_processes()));
  return JobRequeued{
      .reason = fmt::format("it needs more than the {} that it was allowed; the next "
                            "attempt may use {}",
                            gib_text(*last.start.cap_bytes),
                            gib_text(next)),
      .reserve_bytes = next,
      .exclusive = next >= rules.gpu_bytes};
}

// The suspect of a fault runs alone next. What it does there is its own.
AttemptOutcome after_fault(const JobRecord& job, const RunExit& exit) {
  if (job.exclusive || job.attempts.back().start.mechanism == ShareMechanism::None) {
    return JobClosed{
        .end = RunEnd::MpsFault,
        .reason = fmt::format("{}, while it ran alone", detail_or(exit, "its MPS server failed"))};
  }
  const bool alone = exit.culprit || job.ends(RunEnd::MpsFault) >= kFaultsBeforeAlone;
  return JobRequeued{
      .reason = fmt::format("{}{}{}",
                            detail_or(exit, "its MPS server failed"),
                            exit.culprit ? "; of the jobs there it had computed for the shortest "
                                           "time, and is suspected"
                                         : "",
                            alone ? "; the next attempt runs alone" : ""),
      .exclusive = alone};
}

// A machine that goes down is not the job's doing, however often it does.
AttemptOutcome after_loss(const JobRecord& job, const RunExit& exit) {
  const auto losses =
      static_cast<unsigned>(std::ranges::count_if(job.attempts, [](const JobAttempt& attempt) {
        return attempt.ended_s && attempt.exit.end == RunEnd::Lost && !attempt.exit.scope;
      }));
  const unsigned allowed = std::max(kMostLosses, job.spec.retries);
  const std::string what = fmt::format("lost: {}", detail_or(exit, "its supervisor was killed"));
  if (losses <= allowed || exit.scope) {
    return JobRequeued{.reason = what};
  }
  return JobClosed{.end = RunEnd::Lost, .reason = fmt::format("{} ({} times)", what, losses)};
}

}  // namespace

AttemptOutcome attempt_outcome(const JobRecord& job, const OutcomeRules& rules) {
  const RunExit& exit = job.attempts.back().exit;
  if (!job.stop_by.empty()) {
    return after_stop(job, exit, rules);
  }
  switch (exit.end) {
    case RunEnd::Succeeded:
      return JobClosed{};
    case RunEnd::Failed:
    case RunEnd::HostOutOfMemory:
      return after_failure(job, exit);
    case RunEnd::OutOfMemory:
      return after_out_of_memory(job, rules);
    case RunEnd::OverCap:
      return after_cap(job, rules);
    case RunEnd::MpsFault:
      return after_fault(job, exit);
    case RunEnd::Lost:
      return after_loss(job, exit);
    case RunEnd::TimeLimit:
      return JobClosed{.end = exit.end, .reason = detail_or(exit, "exceeded its time limit")};
    case RunEnd::Cancelled:
      return JobClosed{.end = exit.end, .reason = detail_or(exit, "cancelled")};
    case RunEnd::MachineTrouble:
      return JobRequeued{.reason = detail_or(exit, "the machine could not start it")};
    case RunEnd::NeverStarted:
      break;
  }
  return JobClosed{.end = exit.end, .reason = detail_or(exit, "could not be started")};
}

}  // namespace carpool::schedule
