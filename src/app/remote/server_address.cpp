#include "app/remote/server_address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/text/web_address.hpp"

namespace carpool::app {
namespace {

struct SchemeRow {
  std::string_view prefix;
  ServerAddress::Scheme scheme;
};
constexpr std::array kSchemes = {SchemeRow{"https://", ServerAddress::Scheme::Https},
                                 SchemeRow{"http://", ServerAddress::Scheme::Http},
                                 SchemeRow{"ssh://", ServerAddress::Scheme::Ssh}};

tl::unexpected<Error> bad_address(std::string_view text, std::string_view why) {
  return invalid_input(
      fmt::format("CARPOOL_HOST={}: {}; expected https://HOST:PORT, http://127.0.0.1:PORT or "
                  "ssh://[USER@]HOST[:PORT]",
                  text,
                  why));
}

bool has_only(std::string_view text, std::string_view more) {
  return std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || more.find(c) != more.npos;
  });
}

// What is wrong with user and path, which belong to ssh; empty: nothing.
std::string_view problem_of_parts(const ServerAddress& address, bool has_user) {
  if (address.scheme != ServerAddress::Scheme::Ssh) {
    if (has_user) {
      return "a user belongs to ssh; with https the token names the user";
    }
    return address.socket.empty() ? "" : "a path behind the port has no meaning here";
  }
  if (has_user && !is_host_name(address.user)) {
    return "the user is not a name";
  }
  return has_only(address.socket, "._-+/@") ? "" : "the path of the socket has other characters";
}

}  // namespace

std::string ServerAddress::text() const {
  const auto* const row = std::ranges::find(kSchemes, scheme, &SchemeRow::scheme);
  std::string made(row->prefix);
  if (!user.empty()) {
    made += user + "@";
  }
  made += host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
  return made + (port == 0 ? "" : fmt::format(":{}", port)) + socket;
}

bool ServerAddress::on_this_machine() const {
  in_addr address{};
  constexpr std::uint32_t kLoopbackNetwork = 127;
  return host == "localhost" || host == "::1" ||
         (::inet_pton(AF_INET, host.c_str(), &address) == 1 &&
          ntohl(address.s_addr) >> 24U == kLoopbackNetwork);
}

Result<ServerAddress> parse_server_address(std::string_view text) {
  const auto* const row = std::ranges::find_if(
      kSchemes, [&](const SchemeRow& it) { return text.starts_with(it.prefix); });
  if (row == kSchemes.end()) {
    return bad_address(text, "it does not begin with https://, http:// or ssh://");
  }
  ServerAddress address{.scheme = row->scheme};
  std::string_view rest = text.substr(row->prefix.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  address.socket = rest.substr(slash) == "/" ? "" : rest.substr(slash);
  rest = rest.substr(0, slash);
  const std::size_t at = rest.rfind('@');
  const bool has_user = at != rest.npos;
  if (has_user) {
    address.user = rest.substr(0, at);
    rest.remove_prefix(at + 1);
  }
  if (const auto problem = problem_of_parts(address, has_user); !problem.empty()) {
    return bad_address(text, problem);
  }
  if (!take_host(rest, address.host)) {
    return bad_address(text, "it names no host");
  }
  if (rest.empty() && address.scheme == ServerAddress::Scheme::Ssh) {
    return address;
  }
  const auto port = rest.starts_with(':') ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port) {
    return bad_address(text, "it names no port");
  }
  address.port = *port;
  return address;
}

}  // namespace carpool::app
