#include "app/launch/foreground_program.hpp"

#include <array>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/process/descriptor.hpp"

namespace carpool::app {
namespace {

constexpr std::array kPassedOn{SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH};

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) {
      all.emplace_back(text);
    }
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) {
      all.push_back(fmt::format("{}={}", name, value));
    }
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> words;
  words.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    words.push_back(text.data());
  }
  words.push_back(nullptr);
  return words;
}

// In the child, where other threads have left locks behind: system calls only.
[[noreturn]] void become(const std::vector<char*>& arguments,
                         const std::vector<char*>& environment,
                         const sigset_t& signals,
                         pid_t parent,
                         int problems) {
  // A run that is killed cannot end its program; the kernel does.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == parent) {
    ::sigprocmask(SIG_SETMASK, &signals, nullptr);
    ::execvpe(arguments.front(), arguments.data(), environment.data());
  }
  const int problem = errno;
  [[maybe_unused]] const ssize_t told = ::write(problems, &problem, sizeof problem);
  ::_exit(127);
}

}  // namespace

ForegroundProgram::ForegroundProgram() {
  ::sigemptyset(&passed_on_);
  ::sigaddset(&passed_on_, SIGCHLD);
  for (const int signal : kPassedOn) {
    ::sigaddset(&passed_on_, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &passed_on_, &before_);
}

ForegroundProgram::~ForegroundProgram() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Result<void> ForegroundProgram::start(const std::vector<std::string>& command,
                                      const std::map<std::string, std::string>& changes) {
  std::vector<std::string> words = command;
  std::vector<std::string> environment = environment_with(changes);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables = pointers_to(environment);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::Internal, fmt::format("pipe: {}", last_error()));
  }
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    become(arguments, variables, before_, parent, to.get());
  }
  int problem = pid_ < 0 ? errno : 0;
  to = Descriptor();
  // The program's descriptor is closed when it starts.
  if (pid_ > 0 && ::read(from.get(), &problem, sizeof problem) == sizeof problem) {
    ::waitpid(pid_, nullptr, 0);
  }
  if (problem != 0) {
    pid_ = -1;
    const auto code = problem == ENOENT ? ErrorCode::NotFound : ErrorCode::InvalidInput;
    return fail(
        code,
        fmt::format(
            "cannot start {}: {}", command.front(), std::generic_category().message(problem)));
  }
  return {};
}

std::optional<int> ForegroundProgram::wait_for(std::chrono::milliseconds limit) {
  const timespec span{.tv_sec = limit.count() / 1000, .tv_nsec = limit.count() % 1000 * 1'000'000};
  siginfo_t arrived{};
  const int signal = ::sigtimedwait(&passed_on_, &arrived, &span);
  // The terminal sends its signals to the program itself, which is in the same process group.
  if (signal > 0 && signal != SIGCHLD && arrived.si_code != SI_KERNEL) {
    ::kill(pid_, signal);
  }
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) {
    return std::nullopt;
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace carpool::app
