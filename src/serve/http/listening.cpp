#include "serve/http/listening.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "serve/caller.hpp"

namespace carpool::serve {
namespace {

constexpr int kBacklog = 4096;  // at most net.core.somaxconn

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

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// At least one.
Result<Addresses> tcp_address(const std::string& address) {
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
    return invalid_input(
        fmt::format("--listen {}: {}; expected a numeric address and a port, as in 0.0.0.0:8470",
                    address,
                    ::gai_strerror(code)));
  }
  return Addresses(found, ::freeaddrinfo);
}

const sockaddr* plain(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // the type of the system calls
}

// Another user who can write to the folder, or to one above it, could put a socket or a link in the
// place of this one. A sticky folder protects what is in it, but not a name that does not exist
// yet.
Result<void> check_folder(const std::filesystem::path& folder) {
  std::error_code unresolved;
  const std::filesystem::path real = std::filesystem::canonical(folder, unresolved);
  if (unresolved) {
    return not_found(
        fmt::format("the folder {} of the socket does not exist; create it", folder.string()));
  }
  for (std::filesystem::path part = real;; part = part.parent_path()) {
    struct stat status{};
    if (::lstat(part.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
      return problem(fmt::format("inspect {}", part.string()));
    }
    const bool ours = status.st_uid == 0 || status.st_uid == ::geteuid();
    const bool shared = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    const bool sticky = (status.st_mode & S_ISVTX) != 0;
    if (!ours || (shared && (part == real || !sticky))) {
      return invalid_input(
          fmt::format("other users can write to {}{}, and could replace the socket; use a folder "
                      "that only its owner can write to (mode 755 or 700)",
                      part.string(),
                      part == real ? "" : ", above the folder of the socket"));
    }
    if (part == part.root_path()) {
      return {};
    }
  }
}

// Whether a server that has died left its socket.
Result<bool> find_leftover(const std::filesystem::path& path, const sockaddr_un& address) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    return false;
  }
  if (!S_ISSOCK(status.st_mode) || status.st_uid != ::geteuid()) {
    return conflict(
        fmt::format("{} exists and is not a socket of this user; remove it, or name "
                    "another path with --socket",
                    path.string()));
  }
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // EAGAIN: a server listens, and many clients wait for it.
  if (::connect(probe.get(), plain(address), sizeof address) == 0 || errno == EAGAIN) {
    return conflict(fmt::format("a server already listens on {}", path.string()));
  }
  return errno == ECONNREFUSED;
}

// A folder that only we can enter, removed at the end.
class PrivateFolder {
 public:
  explicit PrivateFolder(const std::filesystem::path& parent)
      : path_((parent / ".carpool-XXXXXX").string()), made_(::mkdtemp(path_.data()) != nullptr) {
    if (made_) {
      opened_ = Descriptor(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder() {
    if (made_) {
      ::unlink(socket().c_str());
      ::rmdir(path_.c_str());
    }
  }
  [[nodiscard]] bool valid() const { return opened_.valid(); }
  // By the descriptor: the path of a socket must be short.
  [[nodiscard]] std::string socket() const {
    return fmt::format("/proc/self/fd/{}/socket", opened_.get());
  }

 private:
  std::string path_;
  bool made_;
  Descriptor opened_;
};

Result<void> give_to(const std::string& socket, const std::optional<std::string>& group) {
  if (group) {
    const Result<std::uint32_t> gid = group_id(*group);
    if (!gid) {
      return tl::unexpected(gid.error());
    }
    if (::chown(socket.c_str(), static_cast<uid_t>(-1), *gid) != 0) {
      return problem(fmt::format("change the group of the socket to {}", *group));
    }
  }
  if (::chmod(socket.c_str(), group ? 0660 : 0600) != 0) {
    return problem("change the mode of the socket");
  }
  return {};
}

}  // namespace

Result<void> check_unused(const std::filesystem::path& path) {
  return address_of(path)
      .and_then([&](const sockaddr_un& address) { return find_leftover(path, address); })
      .map([](bool) {});
}

Result<Descriptor> listen_on_socket(const std::filesystem::path& path,
                                    const std::optional<std::string>& group) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address) {
    return tl::unexpected(address.error());
  }
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
  if (const Result<void> safe = check_folder(parent); !safe) {
    return tl::unexpected(safe.error());
  }
  const Result<bool> leftover = find_leftover(path, *address);
  if (!leftover) {
    return tl::unexpected(leftover.error());
  }
  if (*leftover) {
    ::unlink(path.c_str());
  }
  // Made where no other user can reach it, so that no caller connects before group and mode are
  // set.
  const PrivateFolder folder(parent);
  if (!folder.valid()) {
    return problem(fmt::format("create a folder beside {}", path.string()));
  }
  const Result<sockaddr_un> hidden = address_of(folder.socket());
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!hidden || ::bind(listener.get(), plain(*hidden), sizeof *hidden) != 0) {
    return problem(fmt::format("bind {}", path.string()));
  }
  if (const Result<void> given = give_to(folder.socket(), group); !given) {
    return tl::unexpected(given.error());
  }
  if (::listen(listener.get(), kBacklog) != 0) {
    return problem(fmt::format("listen on {}", path.string()));
  }
  if (::renameat2(AT_FDCWD, folder.socket().c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) !=
      0) {
    return errno == EEXIST ? conflict(fmt::format("another server has just made {}", path.string()))
                           : problem(fmt::format("make {}", path.string()));
  }
  return listener;
}

Result<Descriptor> listen_on_tcp(const std::string& address) {
  const Result<Addresses> found = tcp_address(address);
  if (!found) {
    return tl::unexpected(found.error());
  }
  const addrinfo& at = **found;
  Descriptor listener(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(listener.get(), at.ai_addr, at.ai_addrlen) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return problem(fmt::format("listen on {}", address));
  }
  return listener;
}

Result<bool> is_loopback(const std::string& address) {
  const Result<Addresses> found = tcp_address(address);
  if (!found) {
    return tl::unexpected(found.error());
  }
  constexpr std::uint32_t kLoopbackNetwork = 127;
  const addrinfo& at = **found;
  if (at.ai_family == AF_INET) {
    sockaddr_in ip{};
    std::memcpy(&ip, at.ai_addr, sizeof ip);
    return ntohl(ip.sin_addr.s_addr) >> 24U == kLoopbackNetwork;
  }
  sockaddr_in6 ip{};
  std::memcpy(&ip, at.ai_addr, sizeof ip);
  return at.ai_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ip.sin6_addr);
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
