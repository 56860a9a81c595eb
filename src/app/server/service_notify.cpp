#include "app/server/service_notify.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/process/descriptor.hpp"

namespace carpool::app {

void notify_service(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  const std::size_t length = path == nullptr ? 0 : std::strlen(path);
  if (length == 0 || length >= sizeof address.sun_path) {
    return;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') {
    address.sun_path[0] = '\0';  // an abstract socket
  }
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  // A missing service manager is not an error.
  [[maybe_unused]] const ssize_t sent = ::sendto(socket.get(),
                                                 state.data(),
                                                 state.size(),
                                                 MSG_NOSIGNAL,
                                                 reinterpret_cast<const sockaddr*>(&address),
                                                 size);
}

std::optional<std::chrono::microseconds> watchdog_interval() {
  const char* text = std::getenv("WATCHDOG_USEC");
  if (text == nullptr) {
    return std::nullopt;
  }
  long long microseconds = 0;
  const auto [end, problem] = std::from_chars(text, text + std::strlen(text), microseconds);
  if (problem != std::errc{} || microseconds <= 0) {
    return std::nullopt;
  }
  return std::chrono::microseconds(microseconds);
}

}  // namespace carpool::app
