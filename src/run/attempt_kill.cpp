#include "run/attempt_kill.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/proc_file.hpp"
#include "base/log.hpp"
#include "base/process/cgroup.hpp"
#include "base/process/process_table.hpp"
#include "run/job_cgroup.hpp"
#include "run/orphan_reaper.hpp"
#include "run/supervisor/supervisor_order.hpp"

namespace carpool::run {
namespace {

constexpr std::chrono::milliseconds kLookAgain{2};
constexpr std::chrono::milliseconds kPatience{2000};  // for killed processes to disappear

bool is_same(const ProcessEntry& process, const gpu::ProcessIdentity& identity) {
  return process.pid == identity.pid && process.start_ticks == identity.start_ticks;
}

// What is known of an attempt from its folder.
struct AttemptMarks {
  std::optional<gpu::ProcessIdentity> supervisor{};
  std::optional<gpu::ProcessIdentity> leader{};
  std::string folder{};
  std::vector<std::filesystem::path> outputs{};
  std::optional<uid_t> user{};  // of the job, to whom the outputs belong

  // A process can be handed a descriptor by another user.
  [[nodiscard]] bool has_user(pid_t pid) const { return user && process_user(pid) == user; }
};

AttemptMarks marks_of(const RunFolder& folder) {
  AttemptMarks marks{.folder = folder.path().string()};
  if (const auto claim = folder.claimed(); claim && *claim && !(*claim)->abandoned) {
    marks.supervisor = (*claim)->supervisor;
  }
  if (const auto leader = folder.leader(); leader && *leader) {
    marks.leader = **leader;
  }
  for (const std::filesystem::path& file : {folder.stdout_file(), folder.stderr_file()}) {
    std::error_code error;
    if (std::filesystem::path real = std::filesystem::canonical(file, error); !error) {
      struct stat status{};
      if (::lstat(real.c_str(), &status) == 0) {
        marks.user = status.st_uid;
      }
      marks.outputs.push_back(std::move(real));
    }
  }
  return marks;
}

// A session without its leader may be that of another user whose PID was reused: it counts only
// while the leader lives.
std::vector<ProcessEntry> processes_of(const AttemptMarks& marks) {
  const std::vector<ProcessEntry> all = list_processes();
  std::set<pid_t> known;
  const auto add = [&](pid_t ancestor, pid_t session) {
    for (const ProcessEntry& process : job_processes(all, ancestor, session)) {
      known.insert(process.pid);
    }
  };
  for (const ProcessEntry& process : all) {
    const bool supervises = marks.supervisor && is_same(process, *marks.supervisor);
    const bool leads = marks.leader && is_same(process, *marks.leader);
    if (supervises) {
      add(process.pid, 0);
    } else if (leads || was_started_with(process.pid, kRunVariable, marks.folder) ||
               (marks.has_user(process.pid) && writes_to(process.pid, marks.outputs))) {
      known.insert(process.pid);
      add(process.pid, leads ? process.pid : 0);
    }
  }
  std::vector<ProcessEntry> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const ProcessEntry& process) {
    return known.contains(process.pid) && process.state != 'Z' && process.state != 'X' &&
           process.pid != ::getpid() && !(marks.supervisor && is_same(process, *marks.supervisor));
  });
  return found;
}

bool is_stopped(const gpu::ProcessIdentity& process) {
  const auto stat =
      gpu::parse_process_stat(read_proc_file(fmt::format("/proc/{}/stat", process.pid)));
  return stat && stat->start_ticks == process.start_ticks &&
         (stat->state == 'T' || stat->state == 't');
}

bool kill_marked(const AttemptMarks& marks) {
  const std::vector<ProcessEntry> left = processes_of(marks);
  for (const ProcessEntry& process : left) {
    kill_process(process);
  }
  return !left.empty();
}

}  // namespace

void kill_attempt(const RunFolder& folder) {
  if (const auto cgroup = recorded_cgroup(folder)) {
    kill_cgroup(*cgroup);
  }
  kill_marked(marks_of(folder));
}

bool end_leftovers(const RunFolder& folder) {
  if (list_processes().empty()) {
    return false;
  }
  const auto cgroup = recorded_cgroup(folder);
  bool ended = cgroup ? end_cgroup(*cgroup, kPatience) : await_orphan_reaper(folder, kPatience);
  const AttemptMarks marks = marks_of(folder);
  const Stopwatch watch;
  while (kill_marked(marks)) {
    if (watch.seconds() > std::chrono::duration<double>(kPatience).count()) {
      ended = false;
      break;
    }
    pause_for(kLookAgain);
  }
  if (!ended) {
    log_warning(fmt::format("processes of {} still exist after SIGKILL", folder.path().string()));
  }
  return true;
}

void KillWatch::begin() {
  if (!next_s_) {
    next_s_ = boot_seconds() + patience_s_;
  }
}

void KillWatch::look(const RunFolder& folder) {
  if (!next_s_ || boot_seconds() < *next_s_) {
    return;
  }
  next_s_ = boot_seconds() + patience_s_;
  const auto claim = folder.claimed();
  if (!claim || !*claim || (*claim)->abandoned) {
    return;
  }
  const gpu::ProcessIdentity& supervisor = (*claim)->supervisor;
  const bool stopped = is_stopped(supervisor);
  kill_attempt(folder);
  // A supervisor that is stopped again and again is replaced by what its end leads to.
  gpu::send_signal(supervisor, helped_ && stopped ? SIGKILL : SIGCONT);
  helped_ = true;
}

}  // namespace carpool::run
