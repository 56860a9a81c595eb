#include "run/job_leader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/process/spawn.hpp"
#include "base/result.hpp"
#include "core/submission/resource_limits.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {
namespace {

constexpr int kNotStarted = 127;

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::Internal, fmt::format("create a pipe: {}", last_error()));
  }
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// Two connected sockets, for descriptors.
Result<Pipe> make_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(ErrorCode::Internal, fmt::format("create a pair of sockets: {}", last_error()));
  }
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// The file belongs to the user of the job, who may open it again as /dev/stdout or /dev/stderr. The
// folder does not, so the user cannot put another file in its place.
Result<Descriptor> open_output(const SupervisorOrder& order, const std::filesystem::path& file) {
  // A FIFO would let the supervisor wait for a reader.
  Descriptor opened(::open(
      file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat status{};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0) {
    return fail(ErrorCode::Internal, fmt::format("open {}: {}", file.string(), last_error()));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::Internal, fmt::format("{} is not a regular file", file.string()));
  }
  const int flags = ::fcntl(opened.get(), F_GETFL);
  if (flags < 0 || ::fcntl(opened.get(), F_SETFL, flags & ~O_NONBLOCK) != 0 ||
      (order.become_uid && ::fchown(opened.get(), *order.become_uid, order.gid) != 0)) {
    return fail(ErrorCode::Internal,
                fmt::format("prepare {} for the job: {}", file.string(), last_error()));
  }
  return opened;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  for (std::string& text : strings) {
    list.push_back(text.data());
  }
  list.push_back(nullptr);
  return list;
}

struct Streams {
  Descriptor in;
  Descriptor out;
  Descriptor err;
};

[[noreturn]] void give_up(const Descriptor& trouble, const StartTrouble& why) {
  const std::string message = write_trouble(why);
  // If this fails, no process is left to report to.
  [[maybe_unused]] const ssize_t written = ::write(trouble.get(), message.data(), message.size());
  ::_exit(kNotStarted);
}

// What the service gives the server, and a login does not give a user.
void drop_settings_of_the_server(const SupervisorOrder& order) {
  // The server may be protected from the kernel's choice when memory runs out; its jobs are not.
  const Descriptor score(::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
  char sign = 0;
  if (score.valid() && ::read(score.get(), &sign, 1) == 1 && sign == '-') {
    [[maybe_unused]] const ssize_t written = ::pwrite(score.get(), "0", 1, 0);
  }
  if (order.become_uid) {
    ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);  // not that of root
  }
}

// Never above what the server has. A limit that cannot be set stays that of the server.
void take_limits(const SupervisorOrder& order) {
  for (const ResourceName& known : resource_names()) {
    const auto wanted = order.limits.find(std::string(known.name));
    const auto resource = static_cast<__rlimit_resource_t>(known.resource);
    rlimit limit{};
    if (wanted == order.limits.end() || ::getrlimit(resource, &limit) != 0) {
      continue;
    }
    limit.rlim_max = std::min<rlim_t>(wanted->second.hard, limit.rlim_max);
    limit.rlim_cur = std::min<rlim_t>(wanted->second.soft, limit.rlim_max);
    ::setrlimit(resource, &limit);
  }
}

// Runs in the new process until exec().
[[noreturn]] void become_job(const SupervisorOrder& order,
                             const Streams& streams,
                             const Descriptor& go,
                             const Descriptor& trouble,
                             const Descriptor& outputs,
                             pid_t supervisor) {
  ::setsid();
  default_signals();
  const bool connected = ::dup2(streams.in.get(), STDIN_FILENO) >= 0 &&
                         ::dup2(streams.out.get(), STDOUT_FILENO) >= 0 &&
                         ::dup2(streams.err.get(), STDERR_FILENO) >= 0;
  if (!connected) {
    give_up(
        trouble,
        {TroubleScope::Machine, fmt::format("connect the output of the job: {}", last_error())});
  }
  drop_settings_of_the_server(order);
  if (const auto became = become_job_user(order); !became) {
    give_up(trouble, {TroubleScope::User, became.error().message});
  }
  // After the change of user, which clears this setting.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) {
    ::_exit(kNotStarted);
  }
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(go.get(), &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) {
    ::_exit(kNotStarted);  // the supervisor has ended
  }
  ::umask(static_cast<mode_t>(order.umask));
  take_limits(order);
  if (!order.cwd.empty() && ::chdir(order.cwd.c_str()) != 0) {
    give_up(trouble,
            trouble_with_job_files(errno, fmt::format("enter the working folder {}", order.cwd)));
  }
  if (const Started<void> connected_own = connect_own_outputs(order, outputs.get());
      !connected_own) {
    give_up(trouble, connected_own.error());
  }
  std::vector<std::string> argv = order.argv;
  std::vector<std::string> variables;
  variables.reserve(order.env.size());
  for (const auto& [name, value] : order.env) {
    variables.push_back(fmt::format("{}={}", name, value));
  }
  std::vector<char*> arguments = pointers(argv);
  std::vector<char*> envp = pointers(variables);
  environ = envp.data();  // execvp() searches the PATH of the job
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execvp(arguments.front(), arguments.data());
  give_up(trouble, trouble_with_job_files(errno, fmt::format("start {}", order.argv.front())));
}

}  // namespace

Started<JobLeader> JobLeader::make(const SupervisorOrder& order) {
  Result<Pipe> go = make_pipe();
  Result<Pipe> trouble = make_pipe();
  Result<Pipe> outputs = make_sockets();
  const RunFolder folder(order.folder);
  Result<Descriptor> out = open_output(order, folder.stdout_file());
  Result<Descriptor> err = open_output(order, folder.stderr_file());
  for (const Error* problem : {go ? nullptr : &go.error(),
                               trouble ? nullptr : &trouble.error(),
                               outputs ? nullptr : &outputs.error(),
                               out ? nullptr : &out.error(),
                               err ? nullptr : &err.error()}) {
    if (problem != nullptr) {
      return machine_trouble(TroubleScope::Machine, problem->message);
    }
  }
  const Streams streams{
      Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)), std::move(*out), std::move(*err)};
  const pid_t supervisor = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return machine_trouble(TroubleScope::Machine,
                           fmt::format("start a process for the job: {}", last_error()));
  }
  if (pid == 0) {
    go->write.reset();
    become_job(order, streams, go->read, trouble->write, outputs->write, supervisor);
  }
  return JobLeader(pid, std::move(go->write), std::move(trouble->read), std::move(outputs->read));
}

Started<void> JobLeader::let_go() {
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = ::write(go_.get(), &byte, 1);
  go_.reset();
  std::string message;
  std::array<char, 512> part{};
  while (true) {
    const ssize_t got = ::read(trouble_.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    message.append(part.data(), static_cast<std::size_t>(got));
  }
  trouble_.reset();
  if (message.empty()) {
    return {};
  }
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  return tl::unexpected(read_trouble(message));
}

}  // namespace carpool::run
