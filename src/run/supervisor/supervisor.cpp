#include "run/supervisor/supervisor.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/process_table.hpp"
#include "base/process/spawn.hpp"
#include "run/job_cgroup.hpp"
#include "run/job_leader.hpp"
#include "run/job_pause.hpp"
#include "run/mps/mps_sharing.hpp"
#include "run/orphan_reaper.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor/own_outputs.hpp"
#include "run/supervisor/supervised_processes.hpp"
#include "run/supervisor/supervisor_order.hpp"
#include "run/supervisor_signals.hpp"

namespace carpool::run {
namespace {

constexpr std::chrono::seconds kWriteAgain{1};
constexpr std::chrono::seconds kLookEvery{1};
constexpr std::string_view kBegan = "began";

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = ::read(descriptor, part.data(), part.size())) > 0 || (got < 0 && errno == EINTR)) {
    text.append(part.data(), static_cast<std::size_t>(got > 0 ? got : 0));
  }
  return text;
}

// One attempt, from the claim to the exit file.
class Supervisor {
 public:
  Supervisor(SupervisorOrder order, Descriptor starter, std::optional<OrphanReaper> reaper)
      : order_(std::move(order)),
        folder_(order_.folder),
        starter_(std::move(starter)),
        reaper_(std::move(reaper)),
        processes_(order_.cgroup),
        pause_(folder_, processes_),
        fault_watch_(order_),
        outputs_(folder_, order_.output_limit_bytes) {}

  void run() {
    ::signal(SIGPIPE, SIG_IGN);  // the starter or the first process of the job may be gone
    signals_.block();            // before the claim publishes our PID
    const auto self = gpu::identify(::getpid());
    exit_.boot = boot_id();
    exit_.journal = order_.journal;
    if (!self || exit_.boot.empty()) {
      tell_starter(
          write_trouble({TroubleScope::Machine, "a supervisor cannot read its entry in /proc"}));
      return;
    }
    self_ = *self;
    const auto claimed =
        folder_.claim({.supervisor = *self, .boot = exit_.boot, .journal = order_.journal});
    if (!claimed || !*claimed) {
      tell_starter(write_trouble(
          claimed ? StartTrouble{TroubleScope::Job, "another process has claimed the attempt"}
                  : StartTrouble{TroubleScope::Machine, claimed.error().message}));
      return;
    }
    const std::uint64_t kills_before = host_memory_kills();
    if (const Started<void> started = start(); !started) {
      if (!exit_.stop_asked) {
        exit_.not_started = started.error().message;
        exit_.trouble = started.error().scope;
      }
      if (leader_ != 0) {
        end_the_rest();
      }
    } else {
      tell_starter(kBegan);
      wait_for_end();
      end_the_rest();
      outputs_.finish();
      judge();
      const auto of_job = processes_.memory_kills();
      exit_.host_memory = of_job ? *of_job > 0 : host_memory_kills() > kills_before;
    }
    exit_.at_s = epoch_seconds();
    exit_.boot_s = boot_seconds();
    write_exit();
    tell_starter(kBegan);
    if (order_.mps) {
      leave_mps(order_, std::move(mps_));
    }
  }

 private:
  [[nodiscard]] bool failed() const { return exit_.code != 0; }

  // Without this record a job that has ended would be started again. Space may be freed on a full
  // disk; a folder that was removed does not come back.
  void write_exit() const {
    for (Result<void> written = folder_.write_exit(exit_);
         !written && written.error().code != ErrorCode::NotFound;
         written = folder_.write_exit(exit_)) {
      pause_for(kWriteAgain);
    }
  }

  // Whether the server asked to stop while the job had not started yet.
  bool stop_heard() {
    exit_.stop_asked = signals_.stop_heard() || exit_.stop_asked;
    return exit_.stop_asked;
  }

  Started<void> start() {
    if (order_.mps) {
      Started<MpsUse> use = join_mps(order_, [this] { return stop_heard(); });
      if (!use) {
        return tl::unexpected(use.error());
      }
      mps_ = std::move(*use);
    }
    // Orphaned descendants of the job become children of this process, whatever their session.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (reaper_) {
      reaper_->begin();
    }
    Started<JobLeader> leader = JobLeader::make(order_);
    if (!leader) {
      return tl::unexpected(leader.error());
    }
    leader_ = leader->pid();
    const auto identity = gpu::identify(leader_);
    if (!identity) {
      ::kill(leader_, SIGKILL);
      return machine_trouble(TroubleScope::Machine,
                             "the first process of the job ended before it began");
    }
    processes_.enter_cgroup(folder_, leader_);
    if (const Result<void> written = folder_.write_leader(*identity, order_.journal); !written) {
      ::kill(leader_, SIGKILL);
      return machine_trouble(TroubleScope::Machine, written.error().message);
    }
    // A server that finds the claim damaged takes the attempt for one that never ran.
    if (const auto claim = folder_.claimed();
        !claim || !*claim || (*claim)->supervisor != self_ || (*claim)->abandoned) {
      ::kill(leader_, SIGKILL);
      return machine_trouble(
          TroubleScope::Job,
          claim ? "the claim of the attempt was replaced" : claim.error().message);
    }
    return leader->let_go().map([&] { outputs_.copy(leader->take_own_outputs()); });
  }

  void tell_starter(std::string_view words) {
    if (starter_.valid()) {
      [[maybe_unused]] const ssize_t written = ::write(starter_.get(), words.data(), words.size());
      starter_.reset();
    }
  }

  void drain() {
    if (order_.mps) {
      drain_mps(order_, processes_.numbers());
    }
  }

  void stop_job(bool kill) {
    exit_.stop_asked = true;
    pause_.end();  // a client that stands still does not drain, nor does it handle SIGTERM
    drain();
    if (kill) {
      processes_.kill();
    } else {
      ::kill(-leader_, SIGTERM);
      ::kill(-leader_, SIGCONT);  // one that stopped itself would not handle SIGTERM
    }
  }

  void look_at_pause() {
    const bool before = pause_.held();
    pause_.look();
    if (!order_.mps || !pause_.held()) {
      return;
    }
    if (!before) {
      fault_watch_.begin();
    } else if (fault_watch_.gpu_failed()) {
      pause_.end();
    }
  }

  void wait_for_end() {
    look_at_pause();  // the signal may have come before the job began
    while (!reap()) {
      const int signal = signals_.next_within(kLookEvery);
      outputs_.look();
      if (signal == kLookSignal || (signal == 0 && pause_.held())) {
        look_at_pause();
      } else if (signal > 0 && signal != SIGCHLD) {
        stop_job(signal == kKillSignal);
      }
    }
  }

  void judge() {
    if (!order_.mps || !failed()) {
      return;
    }
    const MpsVerdict verdict = judge_mps(order_, mps_.daemon, mps_.logs, leader_);
    exit_.mps_fault = verdict == MpsVerdict::Failed || verdict == MpsVerdict::GpuFaultOfJob;
    exit_.gpu_fault = verdict == MpsVerdict::SharedGpuFault || verdict == MpsVerdict::GpuFaultOfJob;
  }

  // Whether the first process of the job has ended. Reaps its orphans, too.
  bool reap() {
    int status = 0;
    pid_t pid = 0;
    bool over = false;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid != leader_) {
        continue;
      }
      over = true;
      if (WIFEXITED(status)) {
        exit_.code = WEXITSTATUS(status);
      } else if (WIFSIGNALED(status)) {
        exit_.signal = WTERMSIG(status);
      }
    }
    return over;
  }

  // A job ends with its first process: the rest is killed and keeps no GPU.
  void end_the_rest() {
    pause_.end();
    if (processes_.any_left()) {
      drain();
    }
    processes_.end();
  }

  SupervisorOrder order_;
  RunFolder folder_;
  Descriptor starter_;  // told when the job runs, its end is on disk, or it cannot begin
  std::optional<OrphanReaper> reaper_;
  SupervisedProcesses processes_;
  JobPause pause_;
  MpsFaultWatch fault_watch_;
  JobOutputs outputs_;
  MpsUse mps_;
  SupervisorSignals signals_;
  gpu::ProcessIdentity self_{};
  pid_t leader_ = 0;
  ExitRecord exit_;
};

// Tells the server why the attempt cannot begin.
int refuse(const StartTrouble& trouble) {
  const std::string words = write_trouble(trouble);
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, words.data(), words.size());
  return kSupervisorDidNot;
}

}  // namespace

int run_supervisor() {
  Result<SupervisorOrder> order = read_order(read_all(STDIN_FILENO));
  if (!order) {
    return refuse({TroubleScope::Machine, order.error().message});
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return refuse({TroubleScope::Machine, fmt::format("create a pipe: {}", last_error())});
  }
  Descriptor begun(ends[0]);
  Descriptor starter(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return refuse({TroubleScope::Machine, fmt::format("start a supervisor: {}", last_error())});
  }
  if (pid == 0) {
    begun.reset();
    ::setsid();
    leave_streams();
    std::optional<OrphanReaper> reaper;
    if (order->cgroup.empty()) {
      reaper = OrphanReaper::above_this_process(RunFolder(order->folder), starter);
      ::setsid();
    } else {
      leave_server_cgroup(order->cgroup);
    }
    Supervisor(std::move(*order), std::move(starter), std::move(reaper)).run();
    return kSupervisorBegan;
  }
  starter.reset();
  const std::string words = read_all(begun.get());
  if (words == kBegan) {
    return kSupervisorBegan;
  }
  // Without words the supervisor was killed; nothing is known about the attempt then.
  return words.empty() ? kSupervisorDidNot : refuse(read_trouble(words));
}

}  // namespace carpool::run
