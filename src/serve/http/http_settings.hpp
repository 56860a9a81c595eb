// Where the server accepts requests, and from whom.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "serve/access/tokens.hpp"
#include "serve/http/tls.hpp"

namespace carpool::serve {

struct HttpSettings {
  std::filesystem::path socket{};
  std::optional<std::string> group{};  // may connect besides the owner; empty: only the owner
  std::optional<std::string> operators{};
  std::optional<std::string> listen{};   // "127.0.0.1:8470"
  std::shared_ptr<TokenStore> tokens{};  // required for `listen`
  // Required for `listen` unless the address is one of this machine alone.
  std::shared_ptr<const TlsContext> tls{};
};

// Whether these settings keep tokens secret; an error says what is missing.
[[nodiscard]] Result<void> check_tcp(const HttpSettings& settings);

}  // namespace carpool::serve
