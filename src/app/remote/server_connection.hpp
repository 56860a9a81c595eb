// The HTTP connection to a server: over its socket, over TCP with a token, or through ssh. Included
// by .cpp files only.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "app/remote/http_library.hpp"
#include "app/remote/remote_access.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct ServerConnection {
  std::unique_ptr<httplib::ClientImpl> http{};
  // Why a request got no answer.
  std::function<Error(httplib::Error)> explain{};
  // Added to the message where the server does not accept the token.
  std::string token_advice{};
};

[[nodiscard]] ServerConnection connect_to_socket(const std::filesystem::path& socket);
[[nodiscard]] Result<ServerConnection> connect_from_afar(const RemoteAccess& access);

}  // namespace carpool::app
