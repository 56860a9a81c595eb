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

// Returns when no process of the attempt is left: another attempt may follow at once.
void end_leftovers(const RunFolder& folder) {
  const auto leader = folder.leader();
  const pid_t session = leader && *leader ? (*leader)->pid : 0;
  for (int look = 0; look < kLooks; ++look) {
    std::vector<pid_t> left = processes_with(kRunVariable, folder.path().string());
    for (const pid_t pid : job_processes(list_processes(), -1, session)) {
      left.push_back(pid);
    }
    if (left.empty()) {
      return;
    }
    for (const pid_t pid : left) {
      ::kill(pid, SIGKILL);
    }
    pause_for(kLookAgain);
  }
  log_warning(fmt::format("processes of {} still exist after SIGKILL", folder.path().string()));
}

RunExit ended(const RunFolder& folder, const ExitRecord& record) {
  return classify_exit(
      record, tail_of(folder.stdout_file(), kTailBytes), tail_of(folder.stderr_file(), kTailBytes));
}

RunExit lost(const RunFolder& folder, bool same_boot) {
  if (same_boot) {
    end_leftovers(folder);
  }
  return {.end = RunEnd::Lost,
          .detail = same_boot ? "the supervisor was killed, and the job with it"
                              : "the machine went down while the job ran",
          .scope = same_boot ? std::nullopt : std::optional(TroubleScope::Machine),
          .at_s = epoch_seconds()};
}

}  // namespace

RunExit conclude(const RunFolder& folder, bool same_boot) {
  const auto record = folder.exit();
  if (record && *record) {
    return ended(folder, **record);
  }
  if (!record) {
    log_warning(record.error().message);
  }
  return lost(folder, same_boot);
}

}  // namespace carpool::run
