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

short event_of(TlsSession::Step step) {
  switch (step) {
    case TlsSession::Step::NeedsRead:
      return POLLIN;
    case TlsSession::Step::NeedsWrite:
      return POLLOUT;
    case TlsSession::Step::Done:
    case TlsSession::Step::Ended:
      break;
  }
  return 0;
}

}  // namespace

SocketStream::SocketStream(int socket, const TlsContext* tls)
    : socket_(socket),
      tls_(tls == nullptr ? nullptr : std::make_unique<TlsSession>(*tls, socket)) {}

SocketStream::~SocketStream() {
  if (tls_) {
    tls_->close();
  }
}

bool SocketStream::begin(double seconds) {
  const Stopwatch watch;
  while (tls_) {
    const TlsSession::Step step = tls_->accept();
    if (step == TlsSession::Step::Done) {
      break;
    }
    if (step == TlsSession::Step::Ended ||
        !wait_for(socket_, event_of(step), seconds - watch.seconds())) {
      return false;
    }
  }
  return true;
}

bool SocketStream::wait_readable(double seconds) const {
  return !received_.empty() || (tls_ && tls_->has_more()) || wait_for(socket_, POLLIN, seconds);
}

SocketStream::Transfer SocketStream::receive_some(char* to, std::size_t size) {
  Transfer done;
  if (tls_) {
    done.needs = event_of(tls_->read(to, size, done.bytes));
    return done;
  }
  ssize_t got = 0;
  do {
    got = ::recv(socket_, to, size, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  done.bytes = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  done.needs = got < 0 && would_block() ? POLLIN : short{0};
  return done;
}

SocketStream::Transfer SocketStream::send_some(const char* from, std::size_t size) {
  Transfer done;
  if (tls_) {
    done.needs = event_of(tls_->write(from, size, done.bytes));
    return done;
  }
  ssize_t sent = 0;
  do {
    sent = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  done.bytes = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  done.needs = sent < 0 && would_block() ? POLLOUT : short{0};
  return done;
}

SocketStream::Arrival SocketStream::receive(double until_s) {
  while (true) {
    std::array<char, kPartBytes> part{};
    const Transfer got = receive_some(part.data(), part.size());
    if (got.bytes > 0) {
      received_.append(part.data(), got.bytes);
      // A client that sends byte by byte is always ready, so the time is checked here, too.
      return request_.seconds() > until_s ? Arrival::TooSlow : Arrival::Complete;
    }
    if (got.needs == 0) {
      return Arrival::Ended;
    }
    if (!wait_for(socket_, got.needs, until_s - request_.seconds())) {
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
  if (tls_) {
    tls_->close();
    tls_.reset();  // what follows is dropped, so it need not be decrypted
  }
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

bool SocketStream::wait_to_send(short event) {
  const Stopwatch watch;
  const double left_s = kStalledSeconds + static_cast<double>(sent_) / kSlowestRate - blocked_s_;
  const bool ready = wait_for(socket_, event, std::min(kStalledSeconds, left_s));
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
    const Transfer sent = send_some(from + done, size - done);
    done += sent.bytes;
    sent_ += sent.bytes;
    if (sent.bytes == 0 && (sent.needs == 0 || !wait_to_send(sent.needs))) {
      return -1;
    }
  }
  return static_cast<ssize_t>(size);
}

}  // namespace carpool::serve
