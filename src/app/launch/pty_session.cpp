#include "app/launch/pty_session.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/launch/pty_frames.hpp"
#include "app/server/job_output.hpp"
#include "base/files/runtime_folder.hpp"

namespace carpool::app {
namespace {

// Every key goes to the program; the terminal is as before at the end.
class RawTerminal {
 public:
  explicit RawTerminal(int terminal) : terminal_(terminal) {
    changed_ = ::tcgetattr(terminal_, &before_) == 0;
    if (changed_) {
      termios raw = before_;
      ::cfmakeraw(&raw);
      ::tcsetattr(terminal_, TCSADRAIN, &raw);
    }
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() {
    if (changed_) {
      ::tcsetattr(terminal_, TCSADRAIN, &before_);
    }
  }

 private:
  int terminal_;
  bool changed_ = false;
  termios before_{};
};

// Signals as a descriptor, for as long as the terminal is connected.
class TerminalSignals {
 public:
  TerminalSignals() {
    sigset_t wanted{};
    ::sigemptyset(&wanted);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) {
      ::sigaddset(&wanted, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    arrived_ = Descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  TerminalSignals(const TerminalSignals&) = delete;
  TerminalSignals& operator=(const TerminalSignals&) = delete;
  ~TerminalSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] int descriptor() const { return arrived_.get(); }
  // 0: none.
  [[nodiscard]] int next() const {
    signalfd_siginfo arrived{};
    return ::read(arrived_.get(), &arrived, sizeof arrived) == sizeof arrived
               ? static_cast<int>(arrived.ssi_signo)
               : 0;
  }

 private:
  sigset_t before_{};
  Descriptor arrived_;
};

winsize window_of_terminal() {
  winsize window{};
  ::ioctl(STDIN_FILENO, TIOCGWINSZ, &window);
  return window;
}

void write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) {
      return;
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

enum class ConnectionEnd { Program, Person };

// One relay: until its program has ended, or the person at the terminal is gone.
class Connection {
 public:
  explicit Connection(Descriptor relay) : relay_(std::move(relay)) {
    ::fcntl(relay_.get(), F_SETFL, ::fcntl(relay_.get(), F_GETFL) | O_NONBLOCK);
    to_relay_.add(window_frame(window_of_terminal()));
  }

  [[nodiscard]] ConnectionEnd until_the_end() {
    const RawTerminal raw(STDIN_FILENO);
    const TerminalSignals signals;
    while (true) {
      if (!to_relay_.write_to(relay_.get())) {
        return ConnectionEnd::Program;
      }
      std::array<pollfd, 3> waited{
          pollfd{.fd = to_relay_.empty() ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
          pollfd{.fd = relay_.get(),
                 .events = static_cast<short>(POLLIN | (to_relay_.empty() ? 0 : POLLOUT)),
                 .revents = 0},
          pollfd{.fd = signals.descriptor(), .events = POLLIN, .revents = 0}};
      if (::poll(waited.data(), waited.size(), -1) < 0) {
        continue;
      }
      if ((waited[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !show_output()) {
        return ConnectionEnd::Program;
      }
      if ((waited[0].revents != 0 && !pass_keys()) || !pass_signals(signals)) {
        return ConnectionEnd::Person;
      }
    }
  }

 private:
  [[nodiscard]] bool show_output() const {
    const PtyRead got = read_now(relay_.get());
    write_whole(STDOUT_FILENO, got.bytes);
    return !got.over;
  }

  [[nodiscard]] bool pass_keys() {
    const PtyRead got = read_now(STDIN_FILENO);
    if (!got.bytes.empty()) {
      to_relay_.add(typed_frame(got.bytes));
    }
    return !got.over;
  }

  // False: one that ends the connection.
  [[nodiscard]] bool pass_signals(const TerminalSignals& signals) {
    for (int signal = signals.next(); signal != 0; signal = signals.next()) {
      if (signal != SIGWINCH) {
        return false;
      }
      to_relay_.add(window_frame(window_of_terminal()));
    }
    return true;
  }

  Descriptor relay_;
  PendingBytes to_relay_;
};

// What the relay of a job that never connected said.
void print_problems(WatchedJob& job) {
  std::string ignored;
  JobOutput output(job.id(), 0, {.into = &ignored}, {.to = stderr});
  Result<bool> came = true;
  while (came && *came) {
    came = job.ask([&] { return output.read(job.server(), 0.0); });
  }
}

}  // namespace

Result<PtyListener> PtyListener::open() {
  const std::filesystem::path folder = runtime_folder();
  ::mkdir(folder.c_str(), 0700);
  struct stat status{};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid() || (status.st_mode & 0022U) != 0) {
    return conflict(fmt::format(
        "{} is not a folder that only you can change; set XDG_RUNTIME_DIR to one that is",
        folder.string()));
  }
  const std::filesystem::path path = folder / fmt::format("pty-{}.sock", ::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path) {
    return invalid_input(fmt::format(
        "{} is too long for a socket; set XDG_RUNTIME_DIR to a shorter one", path.string()));
  }
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  ::unlink(path.c_str());  // of an earlier process with this number
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ::fchmod(socket.get(), 0600);  // before bind(): it never has other rights
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 1) != 0) {
    return fail(ErrorCode::Internal, fmt::format("{}: {}", path.string(), last_error()));
  }
  return PtyListener(path, std::move(socket));
}

PtyListener::~PtyListener() {
  if (socket_.valid()) {
    ::unlink(path_.c_str());
  }
}

Result<std::vector<std::string>> PtyListener::command_for(
    const std::vector<std::string>& program) const {
  std::error_code problem;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (problem) {
    return fail(ErrorCode::Internal, fmt::format("/proc/self/exe: {}", problem.message()));
  }
  std::vector<std::string> command{own.string(), "pty-relay", path_.string()};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

Descriptor PtyListener::accept(std::chrono::milliseconds span) const {
  pollfd waited{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  ::poll(&waited, 1, static_cast<int>(span.count()));
  Descriptor relay(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool own = relay.valid() &&
                   ::getsockopt(relay.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                   peer.uid == ::geteuid();
  return own ? std::move(relay) : Descriptor();
}

Result<void> serve_terminal(WatchedJob& job, const PtyListener& listener) {
  bool connected = false;
  while (true) {
    job.pause(std::chrono::milliseconds(0));
    if (Descriptor relay = listener.accept(WatchedJob::kLookEvery); relay.valid()) {
      connected = true;
      Connection connection(std::move(relay));
      if (connection.until_the_end() == ConnectionEnd::Person) {
        job.cancel();  // before the relay sees that the terminal is gone
      }
    }
    const Result<nlohmann::json> now = job.look();
    if (!now) {
      return tl::unexpected(now.error());
    }
    if (has_ended(*now)) {
      if (!connected) {
        print_problems(job);
      }
      return {};
    }
  }
}

}  // namespace carpool::app
