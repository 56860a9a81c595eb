// A server on a socket of a test folder, and plain clients of it.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

#include <nlohmann/json_fwd.hpp>

#include <gtest/gtest.h>

#include "base/process/descriptor.hpp"
#include "serve/http/http_server.hpp"
#include "serve/tests/test_api.hpp"

namespace carpool::serve {

struct HttpAnswer {
  int status = 0;
  std::string headers{};
  std::string body{};
};

inline Descriptor connect_to(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  return socket;
}

inline std::string read_all(const Descriptor& socket) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::recv(socket.get(), part.data(), part.size(), 0)) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    auto server = HttpServer::start(test_.api(), {.socket = socket_});
    EXPECT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  [[nodiscard]] HttpAnswer ask(const std::string& method,
                               const std::string& path,
                               const std::string& body = "") const {
    const Descriptor socket = connect_to(socket_);
    const std::string request = fmt::format(
        "{} {} HTTP/1.1\r\nHost: carpool\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
        method,
        path,
        body.size(),
        body);
    EXPECT_EQ(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return answer_of(read_all(socket));
  }
  [[nodiscard]] static HttpAnswer answer_of(const std::string& text) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) {
      return {};
    }
    return {.status = std::stoi(text.substr(std::strlen("HTTP/1.1 "))),
            .headers = text.substr(0, end),
            .body = text.substr(end + 4)};
  }
  // The answer to any bytes; the client sends no more.
  [[nodiscard]] HttpAnswer answer_to(std::string_view bytes) const {
    const Descriptor socket = connect_to(socket_);
    [[maybe_unused]] const ssize_t sent =
        ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return answer_of(read_all(socket));
  }
  [[nodiscard]] static nlohmann::json error_of(const HttpAnswer& answer);

  TestApi test_;
  std::filesystem::path socket_ = test_.folder() / "s";
  std::unique_ptr<HttpServer> server_;
};

}  // namespace carpool::serve
