#include "run/supervisor.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
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
#include "run/job_leader.hpp"
#include "run/mps_sharing.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor_order.hpp"

namespace carpool::run {
namespace {

static_assert(kAskSignal == SIGTERM && kKillSignal == SIGUSR1);

constexpr std::chrono::seconds kWriteAgain{1};
constexpr int kWriteTries = 600;  // space may be freed on a full disk

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = ::read(descriptor, part.data(), part.size())) > 0 || (got < 0 && errno == EINTR)) {
    text.append(part.data(), static_cast<std::size_t>(got > 0 ? got : 0));
  }
  return text;
}

sigset_t supervisor_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {kAskSignal, kKillSignal, SIGCHLD, SIGINT, SIGHUP}) {
    ::sigaddset(&set, signal);
  }
  return set;
}

// One attempt, from the claim to the exit file.
class Supervisor {
 public:
  Supervisor(SupervisorOrder order, Descriptor starter)
      : order_(std::move(order)), folder_(order_.folder), starter_(std::move(starter)) {}

  void run() {
    waited_for_ = supervisor_signals();
    ::pthread_sigmask(SIG_BLOCK, &waited_for_, nullptr);  // before the claim publishes our PID
    const auto self = gpu::identify(::getpid());
    if (!self) {
      return;
    }
    const auto claimed = folder_.claim({.supervisor = *self, .boot = boot_id()});
    if (!claimed || !*claimed) {
      return;  // another process has claimed the attempt
    }
    const std::uint64_t kills_before = host_memory_kills();
    if (const Result<void> started = start(); !started) {
      exit_.not_started = started.error().message;
    } else {
      tell_starter();
      wait_for_end();
      end_the_rest();
      exit_.mps_fault = order_.mps && failed() && mps_faulted(order_);
      exit_.host_memory = host_memory_kills() > kills_before;
    }
    exit_.at_s = epoch_seconds();
    for (int tries = 0; !folder_.write_exit(exit_) && tries < kWriteTries; ++tries) {
      pause_for(kWriteAgain);
    }
    tell_starter();
  }

 private:
  [[nodiscard]] bool failed() const { return exit_.code != 0; }

  Result<void> start() {
    if (order_.mps) {
      Result<Descriptor> need = join_mps(order_);
      if (!need) {
        return tl::unexpected(need.error());
      }
      mps_need_ = std::move(*need);
    }
    // Orphaned descendants of the job become children of this process, whatever their session.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    Result<JobLeader> leader = JobLeader::make(order_);
    if (!leader) {
      return tl::unexpected(leader.error());
    }
    leader_ = leader->pid();
    const auto identity = gpu::identify(leader_);
    if (!identity) {
      return fail(ErrorCode::Internal, "the first process of the job ended before it began");
    }
    if (Result<void> written = folder_.write_leader(*identity); !written) {
      ::kill(leader_, SIGKILL);
      return written;
    }
    return leader->let_go();
  }

  void tell_starter() {
    if (starter_.valid()) {
      const char byte = 1;
      [[maybe_unused]] const ssize_t written = ::write(starter_.get(), &byte, 1);
      starter_.reset();
    }
  }

  [[nodiscard]] std::vector<pid_t> processes() const {
    return job_processes(list_processes(), ::getpid(), leader_);
  }

  void drain() {
    if (order_.mps) {
      drain_mps(order_, processes());
    }
  }

  void wait_for_end() {
    while (!reap()) {
      const int signal = ::sigwaitinfo(&waited_for_, nullptr);
      if (signal == kKillSignal) {
        exit_.stop_asked = true;
        drain();
        for (const pid_t pid : processes()) {
          ::kill(pid, SIGKILL);
        }
      } else if (signal > 0 && signal != SIGCHLD) {
        exit_.stop_asked = true;
        drain();
        ::kill(-leader_, SIGTERM);
        ::kill(-leader_, SIGCONT);  // a stopped process would not handle SIGTERM
      }
    }
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
    std::vector<pid_t> left = processes();
    if (!left.empty()) {
      drain();
    }
    while (!left.empty()) {
      for (const pid_t pid : left) {
        ::kill(pid, SIGKILL);
      }
      pause_for(std::chrono::milliseconds(2));
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      left = processes();
    }
  }

  SupervisorOrder order_;
  RunFolder folder_;
  Descriptor starter_;  // receives a byte when the job runs or its end is on disk
  Descriptor mps_need_;
  sigset_t waited_for_{};
  pid_t leader_ = 0;
  ExitRecord exit_;
};

}  // namespace

int run_supervisor() {
  Result<SupervisorOrder> order = read_order(read_all(STDIN_FILENO));
  std::array<int, 2> ends{};
  if (!order || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return kSupervisorDidNot;
  }
  Descriptor begun(ends[0]);
  Descriptor starter(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return kSupervisorDidNot;
  }
  if (pid == 0) {
    begun.reset();
    ::setsid();
    leave_streams();
    if (::chdir("/") != 0) {
      return kSupervisorDidNot;
    }
    Supervisor(std::move(*order), std::move(starter)).run();
    return kSupervisorBegan;
  }
  starter.reset();
  return read_all(begun.get()).empty() ? kSupervisorDidNot : kSupervisorBegan;
}

int run_guard_command(std::span<char* const> arguments) {
  constexpr std::size_t kKeeperArguments = 4;
  if (arguments.size() == kKeeperArguments && std::string_view(arguments[0]) == "--mps") {
    return run_mps_keeper(
        {.gpu_uuid = arguments[1], .folder = arguments[2], .users = arguments[3]});
  }
  return arguments.empty() ? run_supervisor() : kSupervisorDidNot;
}

}  // namespace carpool::run
