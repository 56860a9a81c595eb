#include "serve/socket_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace carpool::serve {

bool SocketStream::wait_readable(int timeout_ms) const {
  if (begin_ < end_) {
    return true;
  }
  pollfd waiting{socket_, POLLIN, 0};
  return ::poll(&waiting, 1, timeout_ms) > 0 && (waiting.revents & POLLIN) != 0;
}

bool SocketStream::is_readable() const {
  return wait_readable(timeout_ms_);
}

bool SocketStream::is_writable() const {
  pollfd waiting{socket_, POLLOUT, 0};
  return ::poll(&waiting, 1, timeout_ms_) > 0 && (waiting.revents & (POLLHUP | POLLERR)) == 0;
}

ssize_t SocketStream::read(char* to, std::size_t size) {
  if (begin_ == end_) {
    if (!is_readable()) {
      return -1;
    }
    ssize_t got = 0;
    do {
      got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
      return got;
    }
    begin_ = 0;
    end_ = static_cast<std::size_t>(got);
  }
  const std::size_t part = std::min(size, end_ - begin_);
  std::memcpy(to, buffer_.data() + begin_, part);
  begin_ += part;
  return static_cast<ssize_t>(part);
}

ssize_t SocketStream::write(const char* from, std::size_t size) {
  if (!is_writable()) {
    return -1;
  }
  ssize_t sent = 0;
  do {
    sent = ::send(socket_, from, size, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

void SocketStream::get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}
void SocketStream::get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}

}  // namespace carpool::serve
