#include "base/process/spawn.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/process/descriptor.hpp"

namespace carpool {
namespace {

// Everything that the child needs, prepared before the fork: between fork and exec only calls that
// are safe in a signal handler are allowed, because another thread may have held any lock.
struct Plan {
  std::string program;
  std::vector<std::string> environment;
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::string folder;
  std::array<int, 3> streams{};
  bool dies_with_parent = false;
  pid_t parent = 0;
};

// The step at which the child failed, sent through a pipe that a successful exec closes.
struct Failure {
  enum class Step { Streams, Folder, Program };
  Step step = Step::Program;
  int code = 0;
};

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) {
      merged.emplace_back(text);
    }
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) {
      merged.push_back(fmt::format("{}={}", name, value));
    }
  }
  return merged;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  for (const std::string& text : strings) {
    list.push_back(const_cast<char*>(text.c_str()));  // exec takes them unconst but leaves them
  }
  list.push_back(nullptr);
  return list;
}

[[noreturn]] void give_up(int report, Failure::Step step) {
  const Failure failure{step, errno};
  // When this fails too, the parent sees an end of file and status 127.
  [[maybe_unused]] const ssize_t told = ::write(report, &failure, sizeof failure);
  ::_exit(127);
}

[[noreturn]] void become(const Plan& plan, int report) {
  ::setpgid(0, 0);
  if (plan.dies_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) {  // it ended before the call above
      ::_exit(127);
    }
  }
  default_signals();
  for (int target = 0; target < 3; ++target) {
    if (::dup2(plan.streams[static_cast<std::size_t>(target)], target) < 0) {
      give_up(report, Failure::Step::Streams);
    }
  }
  // Libraries may have opened descriptors without O_CLOEXEC. Without the call (before Linux 5.11)
  // the child inherits those, as it always did.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  if (!plan.folder.empty() && ::chdir(plan.folder.c_str()) != 0) {
    give_up(report, Failure::Step::Folder);
  }
  ::execve(plan.program.c_str(), plan.argv.data(), plan.envp.data());
  give_up(report, Failure::Step::Program);
}

tl::unexpected<Error> explain(const Failure& failure, const Plan& plan) {
  const std::string reason = std::generic_category().message(failure.code);
  const ErrorCode code =
      failure.code == ENOENT || failure.code == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Internal;
  switch (failure.step) {
    case Failure::Step::Streams:
      return fail(ErrorCode::Internal,
                  fmt::format("start {}: connect its streams: {}", plan.program, reason));
    case Failure::Step::Folder:
      return fail(code, fmt::format("start {} in {}: {}", plan.program, plan.folder, reason));
    case Failure::Step::Program:
      break;
  }
  return fail(code, fmt::format("start {}: {}", plan.program, reason));
}

// A descriptor below 3 would be overwritten while the streams are put in place.
Result<Descriptor> lifted(int fd) {
  Descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy.valid()) {
    return fail(ErrorCode::Internal,
                fmt::format("duplicate a descriptor for a child process: {}", last_error()));
  }
  return copy;
}

Result<pid_t> launch(const Plan& plan) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::Internal, fmt::format("start {}: pipe: {}", plan.program, last_error()));
  }
  const Descriptor report(ends[0]);
  Descriptor told(ends[1]);
  Result<Descriptor> child_end = lifted(told.get());  // the child's report must survive dup2 too
  if (!child_end) {
    return tl::unexpected(child_end.error());
  }
  told.reset();

  // The handlers of this process must not run in the child before it has reset them.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(plan, child_end->get());
  }
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) {
    return fail(
        ErrorCode::Internal,
        fmt::format(
            "start {}: fork: {}", plan.program, std::generic_category().message(fork_error)));
  }
  child_end->reset();
  Failure failure;
  ssize_t got = 0;
  do {
    got = ::read(report.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof failure) {
    return pid;
  }
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return explain(failure, plan);
}

}  // namespace

void default_signals() {
  for (int number = 1; number < NSIG; ++number) {
    ::signal(number, SIG_DFL);  // SIGKILL, SIGSTOP and the C library's own refuse, which is right
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Result<std::filesystem::path> find_program(const std::string& name) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos) {
    return std::filesystem::absolute(name, ignored);
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!name.empty() && !rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::filesystem::path candidate = std::filesystem::path(rest.substr(0, colon)) / name;
    if (std::filesystem::is_regular_file(candidate, ignored) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return std::filesystem::absolute(candidate, ignored);
    }
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  }
  return fail(ErrorCode::NotFound,
              fmt::format("there is no program \"{}\" in any folder of PATH ({})",
                          name,
                          path == nullptr ? "unset" : path));
}

void leave_streams() {
  Descriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nowhere.valid()) {
    nowhere = Descriptor(::memfd_create("nowhere", MFD_CLOEXEC));
  }
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(nowhere.get(), stream) < 0) {
      ::close(stream);  // a stream that stays open keeps its reader waiting, and its lock held
    }
  }
}

Result<pid_t> spawn(const Command& command, const StandardStreams& streams) {
  if (command.argv.empty()) {
    return invalid_input("the command is empty: name a program");
  }
  const Result<std::filesystem::path> program = find_program(command.argv.front());
  if (!program) {
    return tl::unexpected(program.error());
  }
  Plan plan;
  plan.program = program->string();
  plan.environment = merged_environment(command.environment);
  plan.argv = pointers(command.argv);
  plan.envp = pointers(plan.environment);
  plan.folder = command.working_folder.string();
  plan.dies_with_parent = command.dies_with_parent;
  plan.parent = ::getpid();
  std::array<Descriptor, 3> copies;
  const std::array<int, 3> wanted = {streams.in, streams.out, streams.err};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Result<Descriptor> copy = lifted(wanted[i]);
    if (!copy) {
      return tl::unexpected(copy.error());
    }
    copies[i] = std::move(*copy);
    plan.streams[i] = copies[i].get();
  }
  return launch(plan);
}

}  // namespace carpool
