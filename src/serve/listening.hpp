// Listening sockets.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"

namespace carpool::serve {

// A unix socket that only its owner and, where given, members of `group` can connect to. A socket
// without a server is replaced; Conflict if a server listens on it.
[[nodiscard]] Result<Descriptor> listen_on_socket(const std::filesystem::path& path,
                                                  const std::optional<std::string>& group);
// Numeric "HOST:PORT", such as "[::1]:8470".
[[nodiscard]] Result<Descriptor> listen_on_tcp(const std::string& address);

// The user at the other end of a unix socket.
[[nodiscard]] Result<std::uint32_t> peer_of(int socket);

}  // namespace carpool::serve
