#include "run/supervisor/supervised_processes.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/process/cgroup.hpp"
#include "base/process/process_table.hpp"
#include "run/job_cgroup.hpp"

namespace carpool::run {
namespace {

constexpr std::chrono::milliseconds kKillAgain{2};
constexpr std::chrono::milliseconds kStopAgain{1};
constexpr std::chrono::milliseconds kStopLimit{250};  // the supervisor has other things to do

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

// A process may fork until it stands still, while the others are looked at: two looks in a row
// must find none that moves.
bool SupervisedProcesses::stop_one_by_one() {
  constexpr int kLooks = 2;
  const Stopwatch watch;
  int still = 0;
  while (still < kLooks && watch.seconds() < std::chrono::duration<double>(kStopLimit).count()) {
    const std::vector<ProcessEntry> processes = list_processes();
    bool moves = processes.empty();  // they cannot be listed now
    for (const ProcessEntry& process : descendants(processes)) {
      if (process.state == 'T' || process.state == 't') {
        continue;
      }
      const gpu::ProcessIdentity identity{process.pid, process.start_ticks};
      const bool signalled = std::ranges::find(stopped_, identity) != stopped_.end();
      if (signalled && process.state == 'D') {
        continue;  // it waits for a disk, or after vfork() for its child, and stops then
      }
      if (!signalled) {
        stopped_.push_back(identity);
      }
      moves = gpu::send_signal(identity, SIGSTOP) || moves;
    }
    still = moves ? 0 : still + 1;
    if (moves) {
      pause_for(kStopAgain);
    }
  }
  return still == kLooks;
}

bool SupervisedProcesses::hold() {
  const bool frozen = in_cgroup_ && freeze_cgroup(cgroup_, kStopLimit);
  return frozen || stop_one_by_one();
}

void SupervisedProcesses::release() {
  if (in_cgroup_) {
    thaw_cgroup(cgroup_);
  }
  // The youngest first: a parent that waits for stopped children finds none.
  for (auto process = stopped_.rbegin(); process != stopped_.rend(); ++process) {
    gpu::send_signal(*process, SIGCONT);
  }
  stopped_.clear();
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
