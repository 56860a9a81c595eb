// Listening sockets.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"

namespace carpool::serve {

// A unix socket that only its owner and, where given, members of `group` can connect to, in a
// folder that other users cannot write to. A socket of this user without a server is replaced;
// Conflict where a server listens on it, or where something else has the name.
[[nodiscard]] Result<Descriptor> listen_on_socket(const std::filesystem::path& path,
                                                  const std::optional<std::string>& group);
// Conflict where a server listens on it already: before its jobs start.
[[nodiscard]] Result<void> check_unused(const std::filesystem::path& path);
// Numeric "HOST:PORT", such as "[::1]:8470".
[[nodiscard]] Result<Descriptor> listen_on_tcp(const std::string& address);
// Whether only this machine reaches such an address.
[[nodiscard]] Result<bool> is_loopback(const std::string& address);

// The user at the other end of a unix socket.
[[nodiscard]] Result<std::uint32_t> peer_of(int socket);

}  // namespace carpool::serve
