// Why a user may not connect to the socket of a server, and what to ask for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace carpool::app {

struct SocketFacts {
  std::filesystem::path socket{};
  std::string user{};     // who wants to connect
  std::string owner{};    // of the socket
  std::string group{};    // that may connect; empty: the owner alone
  bool member = false;    // by the group database
  bool reachable = true;  // the folders above let the user pass
};
[[nodiscard]] std::string no_access_text(const SocketFacts& facts);

// Forbidden where the socket exists and the permissions keep this process from connecting.
[[nodiscard]] std::optional<Error> access_problem(const std::filesystem::path& socket);

}  // namespace carpool::app
