#include "run/supervised_processes.hpp"

#include <chrono>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/process/cgroup.hpp"
#include "base/process/process_table.hpp"
#include "run/job_cgroup.hpp"

namespace carpool::run {
namespace {

constexpr std::chrono::milliseconds kKillAgain{2};

// Descendants only: after the end of the leader its session may be that of another user.
std::vector<ProcessEntry> descendants(const std::vector<ProcessEntry>& processes) {
  return job_processes(processes, ::getpid(), 0);
}

}  // namespace

void SupervisedProcesses::enter_cgroup(const RunFolder& folder, pid_t leader) {
  if (cgroup_.empty()) {
    return;
  }
  const Result<void> entered = make_job_cgroup(folder, cgroup_).and_then([&] {
    return carpool::enter_cgroup(cgroup_, leader);
  });
  in_cgroup_ = entered.has_value();
}

std::vector<pid_t> SupervisedProcesses::numbers() const {
  std::vector<pid_t> found;
  for (const ProcessEntry& process : descendants(list_processes())) {
    found.push_back(process.pid);
  }
  return found;
}

bool SupervisedProcesses::any_left() const {
  if (in_cgroup_ && is_populated(cgroup_)) {
    return true;
  }
  const std::vector<ProcessEntry> processes = list_processes();
  return processes.empty() || !descendants(processes).empty();
}

void SupervisedProcesses::kill() const {
  if (in_cgroup_) {
    kill_cgroup(cgroup_);
  }
  for (const ProcessEntry& process : descendants(list_processes())) {
    kill_process(process);
  }
}

void SupervisedProcesses::end() {
  while (any_left()) {
    kill();
    pause_for(kKillAgain);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  if (in_cgroup_) {
    memory_kills_ = cgroup_memory_kills(cgroup_);
    remove_cgroup(cgroup_);
  }
}

}  // namespace carpool::run
