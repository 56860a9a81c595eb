#include "app/server/socket_access.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "serve/caller.hpp"

namespace carpool::app {
namespace {

std::string group_name(gid_t gid) {
  std::array<char, 65536> buffer{};
  group entry{};
  group* found = nullptr;
  ::getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? std::to_string(gid) : found->gr_name;
}

}  // namespace

std::string no_access_text(const SocketFacts& facts) {
  const std::string socket = facts.socket.string();
  if (!facts.reachable) {
    return fmt::format(
        "user {} may not enter the folder of the server's socket {}: ask an administrator, or "
        "start "
        "a server with `carpool serve`",
        facts.user,
        socket);
  }
  if (facts.group.empty()) {
    return fmt::format("the server on {} serves user {} only: name another one with --socket",
                       socket,
                       facts.owner);
  }
  if (facts.member) {
    return fmt::format(
        "user {} is a member of the group {}, which may use the server on {}, but this session "
        "began before that: log in again, or run `newgrp {}`",
        facts.user,
        facts.group,
        socket,
        facts.group);
  }
  return fmt::format(
      "user {} is not a member of the group {}, which may use the server on {}: ask an "
      "administrator "
      "to run `usermod -aG {} {}`, then log in again",
      facts.user,
      facts.group,
      socket,
      facts.group,
      facts.user);
}

std::optional<Error> access_problem(const std::filesystem::path& socket) {
  // The owner of the process decides, as for connect().
  if (::faccessat(AT_FDCWD, socket.c_str(), W_OK, AT_EACCESS) == 0 || errno != EACCES) {
    return std::nullopt;
  }
  SocketFacts facts{.socket = socket, .user = serve::user_name(::geteuid())};
  struct stat status{};
  if (::stat(socket.c_str(), &status) != 0) {
    facts.reachable = false;
  } else {
    facts.owner = serve::user_name(status.st_uid);
    if ((status.st_mode & S_IWGRP) != 0) {
      facts.group = group_name(status.st_gid);
      facts.member = serve::in_group(::geteuid(), facts.group);
    }
  }
  return Error{ErrorCode::Forbidden, no_access_text(facts)};
}

}  // namespace carpool::app
