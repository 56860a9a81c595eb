#include "serve/listening.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "serve/caller.hpp"

namespace carpool::serve {
namespace {

constexpr int kBacklog = 512;

tl::unexpected<Error> problem(const std::string& what) {
  return fail(ErrorCode::Internal, fmt::format("{}: {}", what, last_error()));
}

Result<sockaddr_un> address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) {
    return invalid_input(fmt::format(
        "the path of a socket may have at most {} bytes: {}", sizeof address.sun_path - 1, text));
  }
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

const sockaddr* plain(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // the type of the system calls
}

Result<void> remove_leftover(const std::filesystem::path& path, const sockaddr_un& address) {
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), plain(address), sizeof address) == 0) {
    return conflict(fmt::format("a server already listens on {}", path.string()));
  }
  if (errno == ECONNREFUSED) {
    ::unlink(path.c_str());
  }
  return {};
}

}  // namespace

Result<Descriptor> listen_on_socket(const std::filesystem::path& path,
                                    const std::optional<std::string>& group) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address) {
    return tl::unexpected(address.error());
  }
  if (const Result<void> free = remove_leftover(path, *address); !free) {
    return tl::unexpected(free.error());
  }
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // Created without permissions, so that no caller connects before they are set.
  const mode_t before = ::umask(0777);
  const int bound = ::bind(listener.get(), plain(*address), sizeof *address);
  ::umask(before);
  if (bound != 0) {
    return problem(fmt::format("bind {}", path.string()));
  }
  if (group) {
    const Result<std::uint32_t> gid = group_id(*group);
    if (!gid) {
      return tl::unexpected(gid.error());
    }
    if (::chown(path.c_str(), static_cast<uid_t>(-1), *gid) != 0) {
      return problem(fmt::format("change the group of {} to {}", path.string(), *group));
    }
  }
  if (::chmod(path.c_str(), group ? 0660 : 0600) != 0 || ::listen(listener.get(), kBacklog) != 0) {
    return problem(fmt::format("listen on {}", path.string()));
  }
  return listener;
}

Result<Descriptor> listen_on_tcp(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return invalid_input(
        fmt::format("--listen {}: expected HOST:PORT, as in 127.0.0.1:8470", address));
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
      code != 0) {
    return invalid_input(fmt::format("--listen {}: {}", address, ::gai_strerror(code)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> kept(found, ::freeaddrinfo);
  Descriptor listener(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(listener.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return problem(fmt::format("listen on {}", address));
  }
  return listener;
}

Result<std::uint32_t> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return problem("read the peer of a socket");
  }
  return peer.uid;
}

}  // namespace carpool::serve
