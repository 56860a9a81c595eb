#include "app/remote/remote_access.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

#include "base/log.hpp"
#include "serve/access/private_file.hpp"

namespace carpool::app {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

std::filesystem::path default_token_file() {
  if (const auto config = variable("XDG_CONFIG_HOME")) {
    return std::filesystem::path(*config) / "carpool" / "token";
  }
  return std::filesystem::path(variable("HOME").value_or("/")) / ".config" / "carpool" / "token";
}

// Every machine on the way could read a token that is not encrypted, and use it.
Result<void> check_encryption(const ServerAddress& address) {
  if (address.scheme != ServerAddress::Scheme::Http || address.on_this_machine()) {
    return {};
  }
  if (variable("CARPOOL_PLAIN_HTTP") == "1") {
    log_warning(fmt::format(
        "CARPOOL_PLAIN_HTTP=1: the token, the jobs and their output cross the network to {} "
        "unencrypted",
        address.host));
    return {};
  }
  return invalid_input(fmt::format(
      "CARPOOL_HOST={}: plain http would send the token unencrypted to another machine; write "
      "https://, or ssh://{}. On a network that you trust with your account, set "
      "CARPOOL_PLAIN_HTTP=1",
      address.text(),
      address.host));
}

}  // namespace

std::optional<std::string> remote_host(const ServerOptions& options) {
  return options.socket ? std::nullopt : variable("CARPOOL_HOST");
}

Result<std::string> read_own_token(const std::filesystem::path& file) {
  Result<std::string> text = serve::read_private_file(file, "this token", serve::Links::Followed);
  if (!text) {
    if (text.error().code == ErrorCode::NotFound) {
      return invalid_input(fmt::format(
          "there is no token in {}: put yours there with mode 0600, or name its file with "
          "CARPOOL_TOKEN_FILE; an administrator makes one with `carpool token create USER`",
          file.string()));
    }
    return text;
  }
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  const bool clean = std::ranges::all_of(
      *text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
  if (text->empty() || !clean) {
    return invalid_input(
        fmt::format("{} does not hold one token: expected one line of letters, digits, - and _",
                    file.string()));
  }
  return text;
}

Result<RemoteAccess> remote_access(const std::string& host) {
  Result<ServerAddress> address = parse_server_address(host);
  if (!address) {
    return tl::unexpected(address.error());
  }
  RemoteAccess access{.address = std::move(*address)};
  if (access.address.scheme == ServerAddress::Scheme::Ssh) {
    access.program = variable("CARPOOL_REMOTE_PROGRAM").value_or(access.program);
    return access;
  }
  if (const Result<void> safe = check_encryption(access.address); !safe) {
    return tl::unexpected(safe.error());
  }
  const auto named = variable("CARPOOL_TOKEN_FILE");
  access.token_file = named ? std::filesystem::path(*named) : default_token_file();
  access.ca_file = variable("CARPOOL_CA_FILE").value_or("");
  Result<std::string> token = read_own_token(access.token_file);
  if (!token) {
    return tl::unexpected(token.error());
  }
  access.token = std::move(*token);
  return access;
}

}  // namespace carpool::app
