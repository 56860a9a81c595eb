#include "serve/http/socket_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace carpool::serve {
namespace {

constexpr std::size_t kPartBytes = std::size_t{16} << 10U;
constexpr std::size_t kHoldStep = std::size_t{256} << 10U;
// A client may take no part of an answer for this long, and takes at least this many bytes a
// second after it.
constexpr double kStalledSeconds = 30.0;
constexpr double kSlowestRate = 32.0 * 1024.0;
constexpr double kLingerSeconds = 1.0;
constexpr std::size_t kLingerBytes = std::size_t{16} << 20U;

bool wait_for(int socket, short events, double seconds) {
  pollfd waiting{socket, events, 0};
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, static_cast<int>(std::ceil(std::max(seconds, 0.0) * 1000.0)));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

bool SocketStream::wait_readable(double seconds) const {
  return !received_.empty() || wait_for(socket_, POLLIN, seconds);
}

SocketStream::Arrival SocketStream::receive(double until_s) {
  while (true) {
    std::array<char, kPartBytes> part{};
    const ssize_t got = ::recv(socket_, part.data(), part.size(), MSG_DONTWAIT);
    if (got > 0) {
      received_.append(part.data(), static_cast<std::size_t>(got));
      // A client that sends byte by byte is always ready, so the time is checked here, too.
      return request_.seconds() > until_s ? Arrival::TooSlow : Arrival::Complete;
    }
    if (got == 0 || (!would_block() && errno != EINTR)) {
      return Arrival::Ended;
    }
    if (!wait_for(socket_, POLLIN, until_s - request_.seconds())) {
      return Arrival::TooSlow;
    }
  }
}

SocketStream::Arrival SocketStream::read_head(std::string& head,
                                              std::size_t most_bytes,
                                              double seconds) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  request_ = Stopwatch();
  blocked_s_ = 0.0;
  sent_ = 0;
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = received_.find(kEnd, searched);
    if (end != std::string::npos && end <= most_bytes) {
      head = received_.substr(0, end);
      received_.erase(0, end + kEnd.size());
      return Arrival::Complete;
    }
    if (received_.size() > most_bytes) {
      head = received_.substr(0, most_bytes);
      return Arrival::TooLarge;
    }
    searched = received_.size() - std::min(received_.size(), kEnd.size() - 1);
    if (const Arrival arrival = receive(seconds); arrival != Arrival::Complete) {
      return arrival;
    }
  }
}

SocketStream::Arrival SocketStream::read_body(std::string& body,
                                              std::size_t bytes,
                                              double seconds,
                                              const std::function<bool(std::size_t)>& may_hold) {
  std::size_t held = 0;
  while (body.size() < bytes) {
    if (received_.empty()) {
      if (const Arrival arrival = receive(seconds); arrival != Arrival::Complete) {
        return arrival;
      }
    }
    const std::size_t part = std::min(received_.size(), bytes - body.size());
    while (held < body.size() + part) {
      const std::size_t more = std::min(kHoldStep, bytes - held);
      if (!may_hold(more)) {
        return Arrival::TooLarge;
      }
      held += more;
      body.reserve(held);
    }
    body.append(received_, 0, part);
    received_.erase(0, part);
  }
  return Arrival::Complete;
}

void SocketStream::linger() {
  ::shutdown(socket_, SHUT_WR);
  request_ = Stopwatch();
  for (std::size_t dropped = 0; dropped < kLingerBytes; dropped += received_.size()) {
    received_.clear();
    if (receive(kLingerSeconds) != Arrival::Complete) {
      return;
    }
  }
}

bool SocketStream::is_writable() const {
  pollfd waiting{socket_, POLLOUT, 0};
  return ::poll(&waiting, 1, 0) >= 0 && (waiting.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

bool SocketStream::wait_writable() {
  const Stopwatch watch;
  const double left_s = kStalledSeconds + static_cast<double>(sent_) / kSlowestRate - blocked_s_;
  const bool ready = wait_for(socket_, POLLOUT, std::min(kStalledSeconds, left_s));
  blocked_s_ += watch.seconds();
  return ready && left_s > 0.0;
}

ssize_t SocketStream::read(char* to, std::size_t size) {
  const std::size_t part = std::min(size, presented_.size());
  std::memcpy(to, presented_.data(), part);
  presented_.remove_prefix(part);
  return static_cast<ssize_t>(part);
}

ssize_t SocketStream::write(const char* from, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t sent = ::send(socket_, from + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      done += static_cast<std::size_t>(sent);
      sent_ += static_cast<std::size_t>(sent);
    } else if (errno != EINTR && (!would_block() || !wait_writable())) {
      return -1;
    }
  }
  return static_cast<ssize_t>(size);
}

}  // namespace carpool::serve
