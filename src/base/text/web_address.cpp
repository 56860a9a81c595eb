#include "base/text/web_address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace carpool {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_visible_ascii(char c) {
  return c > ' ' && c < '\x7f';
}

bool is_ipv6_address(const std::string& text) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

tl::unexpected<Error> bad_web_address(std::string_view why) {
  return invalid_input(fmt::format("{}; expected https://HOST[:PORT]/PATH", why));
}

}  // namespace

std::string WebAddress::service() const {
  const bool usual = port == (tls ? kHttpsPort : kHttpPort);
  const std::string name = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
  return fmt::format(
      "{}://{}{}", tls ? "https" : "http", name, usual ? "" : fmt::format(":{}", port));
}

bool has_scheme(std::string_view text) {
  const std::string_view scheme = text.substr(0, text.find("://"));
  return scheme.size() < text.size() && !scheme.empty() &&
         std::ranges::all_of(
             scheme,
             [](char c) { return is_letter_or_digit(c) || c == '+' || c == '-' || c == '.'; });
}

Result<WebAddress> parse_web_address(std::string_view text) {
  WebAddress address{.tls = text.starts_with("https://")};
  if (!address.tls && !text.starts_with("http://")) {
    return bad_web_address("it begins with neither https:// nor http://");
  }
  if (!std::ranges::all_of(text, is_visible_ascii) || text.find('#') != text.npos) {
    return bad_web_address("it has a space, a '#' or a character that is not ASCII");
  }
  std::string_view rest = text.substr(text.find("://") + 3);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view path = rest.substr(end);
  rest = rest.substr(0, end);
  if (rest.find('@') != rest.npos) {
    return bad_web_address("it names a user; put a secret into the path");
  }
  if (!take_host(rest, address.host)) {
    return bad_web_address("it names no host");
  }
  const std::optional<std::uint16_t> port =
      rest.empty() ? std::optional(address.tls ? kHttpsPort : kHttpPort)
                   : (rest.starts_with(':') ? parse_port(rest.substr(1)) : std::nullopt);
  if (!port) {
    return bad_web_address("its port is not a number from 1 to 65535");
  }
  address.port = *port;
  address.path = fmt::format("{}{}", path.starts_with('/') ? "" : "/", path);
  return address;
}

bool is_host_name(std::string_view text) {
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
  });
}

bool take_host(std::string_view& rest, std::string& host) {
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    host = end == rest.npos ? std::string() : std::string(rest.substr(1, end - 1));
    rest.remove_prefix(end == rest.npos ? 0 : end + 1);
    return is_ipv6_address(host);
  }
  const std::size_t end = std::min(rest.find(':'), rest.size());
  host = rest.substr(0, end);
  rest.remove_prefix(end);
  return is_host_name(host);
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, problem] = std::from_chars(begin, end, port);
  return problem == std::errc() && stop == end && port > 0 ? std::optional(port) : std::nullopt;
}

}  // namespace carpool
