#include "app/launch/foreground_program.hpp"

#include <array>
#include <cerrno>
#include <ctime>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

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
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &before_);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int problem = ::posix_spawnp(&pid_,
                                     words.front().c_str(),
                                     nullptr,
                                     &attributes,
                                     pointers_to(words).data(),
                                     pointers_to(environment).data());
  ::posix_spawnattr_destroy(&attributes);
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
