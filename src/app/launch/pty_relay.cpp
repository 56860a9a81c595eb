#include "app/launch/pty_relay.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/cli/exit_code.hpp"
#include "app/cli/output.hpp"
#include "app/launch/pty_frames.hpp"
#include "base/process/descriptor.hpp"
#include "base/result.hpp"

namespace carpool::app {
namespace {

constexpr int kProgramNotStarted = 127;

Descriptor connect_to(const char* path) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) {
    return {};
  }
  std::memcpy(address.sun_path, path, std::strlen(path));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return {};
  }
  return socket;
}

void set_nonblocking(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

[[noreturn]] void become_program(std::span<char* const> command) {
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  std::vector<char*> arguments(command.begin(), command.end());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  print_message(fmt::format("cannot start {}: {}", arguments.front(), last_error()));
  ::_exit(kProgramNotStarted);
}

class Relay {
 public:
  Relay(Descriptor client, Descriptor master, pid_t program)
      : client_(std::move(client)), master_(std::move(master)), ended_(open_pidfd(program)) {
    set_nonblocking(client_.get());
    set_nonblocking(master_.get());
  }

  // False: the client is gone.
  [[nodiscard]] bool until_the_end() {
    while (true) {
      std::array<pollfd, 3> waited{
          pollfd{.fd = client_.get(),
                 .events = static_cast<short>((to_program_.empty() ? POLLIN : 0) |
                                              (to_client_.empty() ? 0 : POLLOUT)),
                 .revents = 0},
          pollfd{.fd = master_.get(),
                 .events = static_cast<short>((to_client_.empty() ? POLLIN : 0) |
                                              (to_program_.empty() ? 0 : POLLOUT)),
                 .revents = 0},
          pollfd{.fd = ended_.get(), .events = POLLIN, .revents = 0}};
      // A closed terminal reports itself even while its output has to wait.
      waited[1].fd = waited[1].events == 0 ? -1 : waited[1].fd;
      if (::poll(waited.data(), waited.size(), -1) < 0) {
        continue;
      }
      if (!exchange(waited[0], waited[1])) {
        return false;
      }
      if (waited[2].revents != 0) {
        return finish_output();
      }
    }
  }

  // What was read before the program was started.
  void take(PtyFrameReader frames) {
    frames_ = std::move(frames);
    handle_frames();
  }

 private:
  [[nodiscard]] bool exchange(const pollfd& client, const pollfd& master) {
    if ((client.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const PtyRead got = read_now(client_.get());
      if (got.over) {
        return false;
      }
      frames_.add(got.bytes);
    }
    if (master.fd >= 0 && (master.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      read_program();
    }
    handle_frames();
    return to_client_.write_to(client_.get());
  }

  // The output is also that of the job, for `carpool logs`.
  bool read_program() {
    const PtyRead got = read_now(master_.get());
    to_client_.add(got.bytes);
    [[maybe_unused]] const ssize_t kept =
        ::write(STDOUT_FILENO, got.bytes.data(), got.bytes.size());
    if (got.over) {
      master_.reset();  // no process has the terminal open
      to_program_ = {};
    }
    return !got.bytes.empty();
  }

  void handle_frames() {
    while (const auto frame = frames_.next()) {
      if (const auto window = window_of(*frame)) {
        ::ioctl(master_.get(), TIOCSWINSZ, &*window);
      } else if (master_.valid()) {
        to_program_.add(frame->bytes);
      }
    }
    if (master_.valid() && !to_program_.write_to(master_.get())) {
      to_program_ = {};
    }
  }

  // The kernel may pass on the last output after the end of the program. Processes that it left
  // behind may keep the terminal open: their output is not waited for.
  [[nodiscard]] bool finish_output() {
    constexpr int kLastOutputMs = 200;
    pollfd rest{.fd = master_.get(), .events = POLLIN, .revents = 0};
    while (master_.valid() && ::poll(&rest, 1, kLastOutputMs) > 0 && read_program()) {
    }
    pollfd client{.fd = client_.get(), .events = POLLOUT, .revents = 0};
    while (!to_client_.empty()) {
      if (!to_client_.write_to(client_.get()) || ::poll(&client, 1, -1) < 0) {
        return false;
      }
    }
    return true;
  }

  Descriptor client_;
  Descriptor master_;
  Descriptor ended_;
  PtyFrameReader frames_;
  PendingBytes to_program_;
  PendingBytes to_client_;
};

// The job ends as its program did.
int end_as(int status) {
  if (WIFEXITED(status)) {
    return WEXITSTATUS(status);
  }
  const rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
  return kExitFailure;
}

// The client sends the size of its terminal first.
std::optional<winsize> first_window(const Descriptor& client, PtyFrameReader& frames) {
  while (true) {
    if (const auto frame = frames.next()) {
      return window_of(*frame);
    }
    const PtyRead got = read_now(client.get());
    if (got.over) {
      return std::nullopt;
    }
    frames.add(got.bytes);
  }
}

}  // namespace

int run_pty_relay(std::span<char* const> words) {
  if (words.size() < 2) {
    print_message("pty-relay is a part of carpool run --pty");
    return kExitUsage;
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  Descriptor client = connect_to(words.front());
  PtyFrameReader frames;
  const std::optional<winsize> window =
      client.valid() ? first_window(client, frames) : std::nullopt;
  if (!window) {
    print_message(fmt::format("the carpool run that waits for this job is gone: {} does not answer",
                              words.front()));
    return kExitFailure;
  }
  int master = -1;
  const pid_t program = ::forkpty(&master, nullptr, nullptr, &*window);
  if (program < 0) {
    print_message(fmt::format("cannot make a pseudo-terminal: {}", last_error()));
    return kExitFailure;
  }
  if (program == 0) {
    become_program(words.subspan(1));
  }
  Relay relay(std::move(client), Descriptor(master), program);
  relay.take(std::move(frames));
  if (!relay.until_the_end()) {
    ::kill(-program, SIGHUP);
    return 128 + SIGHUP;
  }
  int status = 0;
  while (::waitpid(program, &status, 0) < 0 && errno == EINTR) {
  }
  return end_as(status);
}

}  // namespace carpool::app
