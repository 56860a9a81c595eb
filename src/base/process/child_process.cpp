#include "base/process/child_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/spawn.hpp"

namespace carpool {
namespace {

// How long a destroyed child has between SIGTERM and SIGKILL.
constexpr std::chrono::milliseconds kDestructorGrace{2000};

// How often to look where there is no pidfd to wait for.
constexpr std::chrono::milliseconds kLookEvery{5};

Result<Descriptor> open_output(const std::filesystem::path& file) {
  const std::filesystem::path target = file.empty() ? "/dev/null" : file;
  Descriptor opened(::open(target.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!opened.valid()) {
    const int code = errno;
    return fail(code == ENOENT ? ErrorCode::NotFound : ErrorCode::Internal,
                fmt::format("open {} for the output of a child process: {}",
                            target.string(),
                            std::generic_category().message(code)));
  }
  return opened;
}

ExitStatus from_wait(int status) {
  ExitStatus result;
  if (WIFEXITED(status)) {
    result.code = WEXITSTATUS(status);
  } else if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  }
  return result;
}

}  // namespace

std::string ExitStatus::text() const {
  if (code) {
    return fmt::format("exit status {}", *code);
  }
  if (signal) {
    const char* name = ::sigabbrev_np(*signal);
    return name == nullptr ? fmt::format("killed by signal {}", *signal)
                           : fmt::format("killed by SIG{} ({})", name, *signal);
  }
  return "ended with an unknown status";
}

Result<ChildProcess> ChildProcess::start(const Command& command, const ChildOutput& output) {
  const Descriptor in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!in.valid()) {
    return fail(ErrorCode::Internal, fmt::format("open /dev/null: {}", last_error()));
  }
  const Result<Descriptor> out = open_output(output.stdout_file);
  if (!out) {
    return tl::unexpected(out.error());
  }
  const Result<Descriptor> err = open_output(output.stderr_file);
  if (!err) {
    return tl::unexpected(err.error());
  }
  const Result<pid_t> pid = spawn(command, {in.get(), out->get(), err->get()});
  if (!pid) {
    return tl::unexpected(pid.error());
  }
  return ChildProcess(*pid, Rest::Killed);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), rest_(other.rest_), status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    end(kDestructorGrace);
    pid_ = std::exchange(other.pid_, -1);
    rest_ = other.rest_;
    status_ = other.status_;
  }
  return *this;
}

ChildProcess::~ChildProcess() {
  end(kDestructorGrace);
}

std::optional<ExitStatus> ChildProcess::poll() {
  if (status_ || pid_ < 0) {
    return status_;
  }
  siginfo_t info = {};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == 0) {
    return std::nullopt;
  }
  if (rest_ == Rest::Killed) {
    ::kill(-pid_, SIGKILL);  // the number is not reused until we reap it
  }
  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(pid_, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  // ECHILD: other code of this process waits for every child, or SIGCHLD is ignored.
  status_ = reaped == pid_ ? from_wait(status) : ExitStatus{};
  return status_;
}

std::optional<ExitStatus> ChildProcess::wait_for(std::chrono::milliseconds limit) {
  if (poll() || pid_ < 0) {
    return status_;
  }
  const std::int64_t deadline = monotonic_ns() + std::chrono::nanoseconds(limit).count();
  const Descriptor ended = open_pidfd(pid_);
  while (!poll()) {
    const std::int64_t left_ns = deadline - monotonic_ns();
    if (left_ns <= 0) {
      return std::nullopt;
    }
    if (!ended.valid()) {
      pause_for(std::min<std::chrono::nanoseconds>(kLookEvery, std::chrono::nanoseconds(left_ns)));
      continue;
    }
    // Rounded up so that the last millisecond is not spent in a busy loop.
    const std::int64_t left_ms = std::min<std::int64_t>(left_ns / 1'000'000 + 1, 60'000);
    pollfd waiting = {ended.get(), POLLIN, 0};
    ::poll(&waiting, 1, static_cast<int>(left_ms));
  }
  return status_;
}

ExitStatus ChildProcess::end(std::chrono::milliseconds grace) {
  if (pid_ < 0) {
    return status_.value_or(ExitStatus{});
  }
  if (!poll()) {
    ::kill(-pid_, SIGTERM);
    ::kill(-pid_, SIGCONT);  // a stopped process would not receive it
  }
  if (!wait_for(grace)) {
    ::kill(-pid_, SIGKILL);
    // Only a process blocked in the kernel survives SIGKILL; waiting then lasts as long as that.
    while (!wait_for(std::chrono::hours(1))) {
    }
  }
  return *status_;
}

}  // namespace carpool
