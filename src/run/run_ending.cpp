#include "run/run_ending.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/process/process_table.hpp"
#include "run/failure_classifier.hpp"
#include "run/supervisor_order.hpp"

namespace carpool::run {
namespace {

constexpr std::chrono::milliseconds kLookAgain{2};
constexpr int kLooks = 250;  // half a second for killed processes to disappear

// Returns when no process of the attempt is left: another attempt may follow at once. False: the
// processes of this machine cannot be listed now.
bool end_leftovers(const RunFolder& folder) {
  const auto leader = folder.leader();
  const pid_t session = leader && *leader ? (*leader)->pid : 0;
  for (int look = 0; look < kLooks; ++look) {
    const std::vector<ProcessEntry> processes = list_processes();
    if (processes.empty()) {
      return false;
    }
    std::vector<pid_t> left = processes_with(kRunVariable, folder.path().string());
    for (const pid_t pid : job_processes(processes, -1, session)) {
      left.push_back(pid);
    }
    if (left.empty()) {
      return true;
    }
    for (const pid_t pid : left) {
      ::kill(pid, SIGKILL);
    }
    pause_for(kLookAgain);
  }
  log_warning(fmt::format("processes of {} still exist after SIGKILL", folder.path().string()));
  return true;
}

// The clock of the machine may have been set since the job ended; the time since boot was not.
double end_time(const ExitRecord& record, const std::function<double()>& clock) {
  const bool comparable = record.boot_s && !record.boot.empty() && record.boot == boot_id();
  return comparable ? clock() - (boot_seconds() - *record.boot_s) : record.at_s;
}

RunExit ended(const RunFolder& folder,
              const ExitRecord& record,
              const std::function<double()>& clock) {
  RunExit exit = classify_exit(
      record, tail_of(folder.stdout_file(), kTailBytes), tail_of(folder.stderr_file(), kTailBytes));
  exit.at_s = end_time(record, clock);
  return exit;
}

// Its first process is recorded before it executes an instruction of the job.
RunExit never_ran(bool same_boot, double at_s) {
  return {.end = RunEnd::MachineTrouble,
          .detail = same_boot ? "the supervisor was killed before it started the job"
                              : "the machine went down before the job started",
          .scope = TroubleScope::Job,
          .at_s = at_s};
}

RunExit lost(bool same_boot, double at_s) {
  return {.end = RunEnd::Lost,
          .detail = same_boot ? "the supervisor was killed, and the job with it"
                              : "the machine went down while the job ran",
          .scope = same_boot ? std::nullopt : std::optional(TroubleScope::Machine),
          .at_s = at_s};
}

}  // namespace

Result<RunExit> conclude(const EndedRun& run, const std::function<double()>& clock) {
  const auto record = run.folder.exit(run.journal);
  if (record && *record) {
    return ended(run.folder, **record, clock);
  }
  if (!record && record.error().code != ErrorCode::Corrupt) {
    return tl::unexpected(record.error());
  }
  if (!record) {
    log_warning(record.error().message);
    // The file is written when the job has ended, which may have done all its work.
    return RunExit{.end = RunEnd::Failed,
                   .detail = fmt::format("the job ran to its end, and its exit record is damaged "
                                         "({}); it is not started again",
                                         record.error().message),
                   .at_s = clock()};
  }
  const auto leader = run.folder.leader();
  if (!leader && leader.error().code != ErrorCode::Corrupt) {
    return tl::unexpected(leader.error());
  }
  if (run.same_boot && !end_leftovers(run.folder)) {
    return fail(ErrorCode::Internal, "the processes of this machine cannot be listed now");
  }
  const bool began = !leader || *leader;  // a damaged file was written, too
  return began ? lost(run.same_boot, clock()) : never_ran(run.same_boot, clock());
}

}  // namespace carpool::run
