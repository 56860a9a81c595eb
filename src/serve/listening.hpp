// Sockets that wait for callers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"

namespace carpool::serve {

// A unix socket that only its owner, and the group where one is named, can connect to. One that a
// dead server left is replaced; one that answers is an error.
[[nodiscard]] Result<Descriptor> listen_on_socket(const std::filesystem::path& path,
                                                  const std::optional<std::string>& group);
// "HOST:PORT" with numbers, "[::1]:8470".
[[nodiscard]] Result<Descriptor> listen_on_tcp(const std::string& address);

// Who is at the other end of a unix socket.
[[nodiscard]] Result<std::uint32_t> peer_of(int socket);

}  // namespace carpool::serve
