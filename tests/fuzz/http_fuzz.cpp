// Any bytes on the socket of the server: it answers in HTTP or closes the connection, and lives on.
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <utility>

#include "base/process/descriptor.hpp"
#include "serve/http/http_server.hpp"
#include "serve/tests/test_api.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

constexpr int kMostInputs = 1000;          // of one server: accepted jobs add up
constexpr std::size_t kMostAnswer = 4096;  // longer ones are not read to their end
constexpr int kWaitMs = 20;                // requests may ask the server to wait
constexpr int kPatientMs = 30'000;

class ServerUnderTest {
 public:
  ServerUnderTest() {
    const std::filesystem::path path = test_.folder() / "s";
    auto server = serve::HttpServer::start(test_.api(), {.socket = path});
    require(server.has_value());
    server_ = std::move(*server);
    std::strncpy(address_.sun_path, path.c_str(), sizeof address_.sun_path - 1);
  }
  ServerUnderTest(const ServerUnderTest&) = delete;
  ServerUnderTest& operator=(const ServerUnderTest&) = delete;
  ~ServerUnderTest() { test_.events().close(); }  // ends requests that wait, as `serve` does

  [[nodiscard]] std::string answer(std::string_view request, int wait_ms) const {
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    require(::connect(
                socket.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) == 0);
    // The server may close first.
    (void)::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
    ::shutdown(socket.get(), SHUT_WR);
    std::string text;
    std::array<char, 4096> part{};
    pollfd waiting{socket.get(), POLLIN, 0};
    while (text.size() < kMostAnswer && ::poll(&waiting, 1, wait_ms) > 0) {
      const ssize_t got = ::recv(socket.get(), part.data(), part.size(), 0);
      if (got <= 0) {
        break;
      }
      text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

  [[nodiscard]] bool healthy() const {
    return answer("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", kPatientMs)
        .starts_with("HTTP/1.1 200");
  }

 private:
  serve::TestApi test_;
  std::unique_ptr<serve::HttpServer> server_;
  sockaddr_un address_{.sun_family = AF_UNIX, .sun_path = {}};
};

// Never destroyed by the language: its threads use statics of the HTTP library, which go first.
ServerUnderTest*& running_server() {
  static ServerUnderTest* server = nullptr;
  return server;
}

void stop_server() {
  delete std::exchange(running_server(), nullptr);
}

}  // namespace

void feed_http(std::string_view bytes) {
  static int inputs = 0;
  if (running_server() == nullptr || ++inputs >= kMostInputs) {
    require(running_server() == nullptr || running_server()->healthy());
    stop_server();
    running_server() = new ServerUnderTest;
    require(running_server()->healthy());
    inputs = 0;
    // Again for each server: statics that came to be meanwhile outlive it, too.
    std::atexit(stop_server);
  }
  const std::string answer = running_server()->answer(bytes, kWaitMs);
  require(answer.empty() || answer.starts_with("HTTP/1.1 "));
  if (answer.size() >= kMostAnswer && answer.find("\"ids\":[") != std::string::npos) {
    inputs = kMostInputs;  // a large array has been accepted
  }
}

}  // namespace carpool::fuzz
