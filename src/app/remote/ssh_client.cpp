#include "app/remote/ssh_client.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "app/remote/remote_words.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/spawn.hpp"

namespace carpool::app {
namespace {

constexpr int kEndMs = 3000;  // for ssh to end by itself once its input is closed

ExitStatus wait_for_end(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? ExitStatus{.code = WEXITSTATUS(status), .signal = {}}
                           : ExitStatus{.code = {}, .signal = WTERMSIG(status)};
}

}  // namespace

SshClient::SshClient(RemoteAccess access)
    : httplib::ClientImpl("carpool"), access_(std::move(access)) {}

SshClient::~SshClient() {
  stop();
  end_ssh();
}

bool SshClient::create_and_connect_socket(Socket& socket, httplib::Error& error) {
  end_ssh();
  error = httplib::Error::Connection;
  std::array<int, 2> ends = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return false;
  }
  Descriptor here(ends[0]);
  const Descriptor there(ends[1]);
  const Result<pid_t> started =
      spawn({.argv = ssh_command(access_),
             .environment = {},
             .working_folder = {},
             .dies_with_parent = true},
            {.in = there.get(), .out = there.get(), .err = STDERR_FILENO});
  if (!started) {
    not_started_ = started.error();
    return false;
  }
  ssh_ = *started;
  error = httplib::Error::Success;
  socket.sock = ::fcntl(here.get(), F_DUPFD_CLOEXEC, 0);
  return socket.sock != INVALID_SOCKET;
}

std::optional<ExitStatus> SshClient::end_ssh() {
  if (ssh_ < 0) {
    return std::nullopt;
  }
  const pid_t pid = std::exchange(ssh_, -1);
  const Descriptor process = open_pidfd(pid);
  pollfd ended{process.get(), POLLIN, 0};
  if (process.valid() && ::poll(&ended, 1, kEndMs) > 0) {
    return wait_for_end(pid);
  }
  ::kill(-pid, SIGTERM);
  wait_for_end(pid);
  return std::nullopt;
}

Error SshClient::explain() {
  stop();
  const std::string host = access_.address.host;
  if (not_started_) {
    return {not_started_->code,
            fmt::format("start ssh to reach {}: {}", host, not_started_->message)};
  }
  constexpr int kSshFailed = 255;
  constexpr int kNoProgram = 127;
  const auto status = end_ssh();
  const int code = status && status->code ? *status->code : 0;
  if (code == kSshFailed) {
    return {ErrorCode::Unavailable,
            fmt::format("ssh did not reach {0}; its message is above. `ssh {0} true` must work "
                        "without a question",
                        host)};
  }
  if (code == kNoProgram) {
    return {
        ErrorCode::Unavailable,
        fmt::format("there is no program `{}` for ssh on {}: install Carpool there, or name the "
                    "program with CARPOOL_REMOTE_PROGRAM",
                    access_.program,
                    host)};
  }
  return {ErrorCode::Unavailable,
          fmt::format("no server answers on {} through ssh ({}); start one there with `carpool "
                      "serve`",
                      host,
                      status ? status->text() : "no answer in time")};
}

}  // namespace carpool::app
