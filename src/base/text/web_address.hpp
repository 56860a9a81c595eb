// Addresses of HTTP services, and the parts that other addresses share with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool {

struct WebAddress {
  bool tls = true;
  std::string host{};  // without the brackets of an IPv6 address
  std::uint16_t port = 0;
  std::string path = "/";  // with the query

  [[nodiscard]] bool operator==(const WebAddress&) const = default;
  // For messages: "https://hooks.example.org", without the path, which may be a secret.
  [[nodiscard]] std::string service() const;
};

// The text begins with a scheme, such as "https://"; a command of a shell does not.
[[nodiscard]] bool has_scheme(std::string_view text);

// https://HOST[:PORT][/PATH][?QUERY] or http://…; nothing that is accepted ends a line of a
// request.
[[nodiscard]] Result<WebAddress> parse_web_address(std::string_view text);

// Letters, digits, '.', '_' and '-', which does not begin it.
[[nodiscard]] bool is_host_name(std::string_view text);
// Takes HOST or [IPV6] from the beginning of `rest`; false: it is neither.
[[nodiscard]] bool take_host(std::string_view& rest, std::string& host);
// 1 to 65535.
[[nodiscard]] std::optional<std::uint16_t> parse_port(std::string_view text);

}  // namespace carpool
