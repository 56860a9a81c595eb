// Where a server on another machine is: the value of CARPOOL_HOST.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool::app {

struct ServerAddress {
  enum class Scheme { Http, Https, Ssh };

  Scheme scheme = Scheme::Https;
  std::string host{};      // without the brackets of an IPv6 address
  std::uint16_t port = 0;  // 0: the one that ssh chooses
  std::string user{};      // of ssh; empty: the one that ssh chooses
  std::string socket{};    // of ssh: path on the other machine; empty: its default

  [[nodiscard]] bool operator==(const ServerAddress&) const = default;
  // For messages: "https://gpu1:8470".
  [[nodiscard]] std::string text() const;
  // The host is this machine: what is sent does not cross a network.
  [[nodiscard]] bool on_this_machine() const;
};

// https://HOST:PORT, http://HOST:PORT or ssh://[USER@]HOST[:PORT][/SOCKET]. Nothing that is
// accepted has a meaning for a shell or is an option for ssh.
[[nodiscard]] Result<ServerAddress> parse_server_address(std::string_view text);

}  // namespace carpool::app
