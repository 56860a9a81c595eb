#include "run/mps/mps_keeper.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/process/spawn.hpp"
#include "base/process/stop_signals.hpp"
#include "gpu/mps/mps_daemon.hpp"

namespace carpool::run {
namespace {

constexpr std::chrono::seconds kLookForUsers{1};
constexpr std::chrono::seconds kStopGrace{10};
constexpr std::chrono::seconds kOldKeeperLimit{15};
constexpr std::chrono::milliseconds kTryOldKeeper{50};
constexpr int kListenMs = 10;
constexpr int kUsers = 3;  // descriptor of the keeper
constexpr int kNoKeeper = 127;

// A login's, not that of the server: the daemon belongs to the user, who can read it.
std::vector<std::string> keeper_environment(const SupervisorOrder& order) {
  std::vector<std::string> variables;
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "CARPOOL_MPS_CONTROL"}) {
    if (const char* value = std::getenv(name); value != nullptr) {
      variables.push_back(fmt::format("{}={}", name, value));
    }
  }
  variables.push_back(fmt::format("HOME={}", order.home));
  variables.push_back(fmt::format("USER={}", order.user));
  variables.push_back(fmt::format("LOGNAME={}", order.user));
  return variables;
}

[[noreturn]] void become_keeper(const SupervisorOrder& order,
                                const Descriptor& start_lock,
                                const Descriptor& said,
                                const Descriptor& users) {
  default_signals();
  const bool ready =
      ::dup2(said.get(), STDOUT_FILENO) >= 0 && ::dup2(start_lock.get(), STDIN_FILENO) >= 0 &&
      ::dup2(users.get(), kUsers) >= 0 && ::fcntl(kUsers, F_SETFD, 0) == 0 && ::chdir("/") == 0;
  if (!ready) {
    ::_exit(kNoKeeper);
  }
  ::close_range(kUsers + 1, ~0U, 0);
  if (const Result<void> became = become_job_user(order); !became) {
    const std::string& words = became.error().message;
    [[maybe_unused]] const ssize_t told = ::write(STDOUT_FILENO, words.data(), words.size());
    ::_exit(kNoKeeper);
  }
  std::vector<std::string> arguments = {
      "carpool", "guard", "--mps", order.mps->gpu_uuid, order.mps->folder.string()};
  std::vector<std::string> variables = keeper_environment(order);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  std::vector<char*> envp;
  envp.reserve(variables.size() + 1);
  for (std::string& text : arguments) {
    argv.push_back(text.data());
  }
  for (std::string& text : variables) {
    envp.push_back(text.data());
  }
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  ::execve("/proc/self/exe", argv.data(), envp.data());
  ::_exit(kNoKeeper);
}

// What the keeper says until it closes its end.
Started<std::string> hear(const Descriptor& keeper, const StartWait& wait) {
  std::string answer;
  std::array<char, 512> part{};
  while (true) {
    pollfd waiting{keeper.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kListenMs) > 0) {
      const ssize_t got = ::read(keeper.get(), part.data(), part.size());
      if (got == 0 || (got < 0 && errno != EINTR)) {
        return answer;
      }
      answer.append(part.data(), static_cast<std::size_t>(got > 0 ? got : 0));
    }
    const Started<void> goes_on =
        wait.check(TroubleScope::Gpus, "the MPS daemon does not start in time");
    if (!goes_on) {
      return tl::unexpected(goes_on.error());
    }
  }
}

void tell_supervisor(std::string_view words) {
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, words.data(), words.size());
}

Result<std::unique_ptr<gpu::MpsDaemon>> adopted_or_started(const std::string& gpu_uuid,
                                                           const std::string& folder) {
  const std::int64_t deadline = monotonic_ns() + std::chrono::nanoseconds(kOldKeeperLimit).count();
  while (true) {
    auto daemon = gpu::MpsDaemon::adopt(gpu_uuid, folder);
    if (!daemon) {
      daemon = gpu::MpsDaemon::start(gpu_uuid, folder);
    }
    // The keeper of a daemon that has died may not have noticed yet.
    const bool may_pass = !daemon && daemon.error().code == ErrorCode::Conflict;
    if (!may_pass || monotonic_ns() >= deadline) {
      return daemon;
    }
    pause_for(kTryOldKeeper);
  }
}

}  // namespace

Started<void> start_mps_keeper(const SupervisorOrder& order,
                               const Descriptor& start_lock,
                               const StartWait& wait) {
  // Opened again: the lock of this supervisor must not count for the keeper.
  const Result<Descriptor> users = open_mps_lock(order.mps->users);
  if (!users) {
    return machine_trouble(TroubleScope::Machine, users.error().message);
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return machine_trouble(
        TroubleScope::Machine,
        fmt::format("create a pipe for the keeper of an MPS daemon: {}", last_error()));
  }
  const Descriptor heard(ends[0]);
  Descriptor said(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return machine_trouble(TroubleScope::Machine,
                           fmt::format("start the keeper of an MPS daemon: {}", last_error()));
  }
  if (pid == 0) {
    become_keeper(order, start_lock, said, *users);
  }
  said.reset();
  const Started<std::string> answer = hear(heard, wait);
  if (!answer) {
    // The keeper ends by itself when its daemon has started and no job needs it.
    return tl::unexpected(answer.error());
  }
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (*answer != "ready") {
    return machine_trouble(
        TroubleScope::Gpus,
        fmt::format("start MPS on {}: {}",
                    order.mps->gpu_uuid,
                    answer->empty() ? "its keeper ended without a message" : *answer));
  }
  return {};
}

int run_mps_keeper(const std::string& gpu_uuid, const std::string& folder) {
  const Descriptor users(kUsers);
  // To the background first: the daemon belongs to the process that stays.
  if (const pid_t pid = ::fork(); pid != 0) {
    if (pid < 0) {
      tell_supervisor(fmt::format("start a process: {}", last_error()));
    }
    return pid < 0 ? 1 : 0;
  }
  ::setsid();
  constexpr mode_t kPrivate = 077;
  ::umask(kPrivate);
  ::fcntl(users.get(), F_SETFD, FD_CLOEXEC);
  ::signal(SIGPIPE, SIG_IGN);  // the supervisor may end before the keeper is ready
  StopSignals signals;
  auto daemon = adopted_or_started(gpu_uuid, folder);
  if (!daemon) {
    tell_supervisor(daemon.error().message);
    return 1;
  }
  tell_supervisor("ready");
  leave_streams();  // tells the supervisor, and gives up the start lock
  while (!signals.wait_for(kLookForUsers) && (*daemon)->alive()) {
    if (try_lock(users, LOCK_EX)) {
      break;  // no user is left, and a new one waits until the daemon has stopped
    }
  }
  const Result<void> stopped = (*daemon)->stop(kStopGrace);
  return stopped ? 0 : 1;
}

}  // namespace carpool::run
