#include "serve/http/http_settings.hpp"

#include <fmt/format.h>

#include "serve/http/listening.hpp"

namespace carpool::serve {

Result<void> check_tcp(const HttpSettings& settings) {
  if (!settings.listen) {
    return settings.tls ? invalid_input("--tls-cert needs --listen HOST:PORT") : Result<void>();
  }
  if (!settings.tokens) {
    return invalid_input("--listen needs --tokens FILE: TCP callers must send a token");
  }
  if (const auto tokens = settings.tokens->current(); !tokens) {
    return tl::unexpected(tokens.error());
  }
  const Result<bool> local = is_loopback(*settings.listen);
  if (!local) {
    return tl::unexpected(local.error());
  }
  if (!settings.tls && !*local) {
    return invalid_input(fmt::format(
        "--listen {}: other machines reach this address, and tokens must not cross a network "
        "unencrypted; add --tls-cert FILE and --tls-key FILE, or listen on 127.0.0.1",
        *settings.listen));
  }
  return {};
}

}  // namespace carpool::serve
