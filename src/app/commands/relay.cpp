#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "base/process/descriptor.hpp"

namespace carpool::app {
namespace {

struct RelayOptions {
  ServerOptions server;
};

void add_relay_options(OptionSet& options, RelayOptions& relay) {
  add_socket(options, relay.server);
}

Result<Descriptor> connect_socket(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) {
    return invalid_input(fmt::format("the path of the socket is too long: {}", text));
  }
  text.copy(address.sun_path, text.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);  // the type of the system call
  if (!socket.valid() || ::connect(socket.get(), plain, sizeof address) != 0) {
    return fail(ErrorCode::Unavailable,
                fmt::format("no server answers on {}: {}", text, last_error()));
  }
  return socket;
}

// All of it; false: the other side is gone.
bool write_whole(int to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::write(to, bytes, size);
    if (sent < 0 && errno != EINTR) {
      return false;
    }
    bytes += std::max<ssize_t>(sent, 0);
    size -= static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  }
  return true;
}

// False: one side has ended.
bool pass_on(int from, int to) {
  std::array<char, 65536> part{};
  const ssize_t got = ::read(from, part.data(), part.size());
  if (got < 0) {
    return errno == EINTR || errno == EAGAIN;
  }
  return got > 0 && write_whole(to, part.data(), static_cast<std::size_t>(got));
}

// Until either side closes: an input that ends means that the client is gone.
void relay_bytes(int socket) {
  while (true) {
    std::array<pollfd, 2> waiting = {pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{socket, POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno == EINTR) {
        continue;
      }
      return;
    }
    if (waiting[1].revents != 0 && !pass_on(socket, STDOUT_FILENO)) {
      return;
    }
    if (waiting[0].revents != 0 && !pass_on(STDIN_FILENO, socket)) {
      return;
    }
  }
}

Result<void> run_relay(const RelayOptions& options, const CommandContext& /*context*/) {
  return reachable_socket(options.server)
      .and_then(connect_socket)
      .map([](const Descriptor& socket) { relay_bytes(socket.get()); });
}

}  // namespace

CommandSpec relay_command() {
  CommandSpec command =
      make_command(add_relay_options,
                   run_relay,
                   {"carpool relay --socket /run/carpool/carpool.sock"},
                   "Commands with CARPOOL_HOST=ssh://HOST start it on HOST. It ends when either "
                   "side closes.");
  command.reads_config = false;
  return command;
}

}  // namespace carpool::app
