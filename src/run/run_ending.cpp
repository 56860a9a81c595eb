#include "run/run_ending.hpp"

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/process/process_table.hpp"
#include "run/attempt_kill.hpp"
#include "run/failure_classifier.hpp"

namespace carpool::run {
namespace {

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
