// What the environment says of a server on another machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/cli/shared_options.hpp"
#include "app/remote/server_address.hpp"
#include "base/result.hpp"

namespace carpool::app {

// The value of CARPOOL_HOST; empty: the server is on this machine. --socket goes first.
[[nodiscard]] std::optional<std::string> remote_host(const ServerOptions& options);

struct RemoteAccess {
  ServerAddress address{};
  // Of http and https.
  std::filesystem::path token_file{};
  std::string token{};
  std::filesystem::path ca_file{};  // empty: the authorities of the system
  // Of ssh.
  std::string program = "carpool";  // on the other machine
};

// From CARPOOL_TOKEN_FILE, CARPOOL_CA_FILE, CARPOOL_PLAIN_HTTP and CARPOOL_REMOTE_PROGRAM.
[[nodiscard]] Result<RemoteAccess> remote_access(const std::string& host);

// The token in a file that no other user may read: one line of letters, digits, - and _.
[[nodiscard]] Result<std::string> read_own_token(const std::filesystem::path& file);

}  // namespace carpool::app
