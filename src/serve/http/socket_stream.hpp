// A connected socket as a stream of the HTTP library, with limits on the time that a client takes.
// Included by .cpp files only.
#pragma once

#include <array>
#include <functional>
#include <httplib.h>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "serve/http/tls.hpp"

namespace carpool::serve {

class SocketStream final : public httplib::Stream {
 public:
  // `tls`: the bytes are encrypted; null: they are not.
  SocketStream(int socket, const TlsContext* tls);
  ~SocketStream() override;

  enum class Arrival { Complete, Ended, TooSlow, TooLarge };

  // The handshake of TLS; false: it failed, or took longer.
  [[nodiscard]] bool begin(double seconds);
  // Whether bytes arrive within that time; false also when the peer has closed.
  [[nodiscard]] bool wait_readable(double seconds) const;
  // The head of a request without the empty line at its end; counts the time of the request.
  [[nodiscard]] Arrival read_head(std::string& head, std::size_t most_bytes, double seconds);
  // Exactly that many bytes, until `seconds` after the head began to be read. `may_hold` is asked
  // before memory for more bytes is taken; TooLarge where it refuses.
  [[nodiscard]] Arrival read_body(std::string& body,
                                  std::size_t bytes,
                                  double seconds,
                                  const std::function<bool(std::size_t)>& may_hold);
  // The library reads this text and then the end of the stream. It outlives the answer.
  void present(std::string_view text) { presented_ = text; }
  // Sends no more, and takes what the peer still sends for a moment: a socket that is closed with
  // unread bytes loses the answer.
  void linger();

  [[nodiscard]] bool is_readable() const override { return !presented_.empty(); }
  [[nodiscard]] bool is_writable() const override;
  ssize_t read(char* to, std::size_t size) override;
  // All of it, or an error: the library does not look at a part.
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  // The library refuses numbers above FD_SETSIZE, and has no other use for it.
  [[nodiscard]] socket_t socket() const override { return INVALID_SOCKET; }

 private:
  // Appends what has arrived to the buffer; waits until then.
  [[nodiscard]] Arrival receive(double until_s);
  // What one call to the system or to TLS did. `needs`: the event of the socket to wait for; 0:
  // bytes were transferred, or the connection has ended.
  struct Transfer {
    std::size_t bytes = 0;
    short needs = 0;
  };
  [[nodiscard]] Transfer receive_some(char* to, std::size_t size);
  [[nodiscard]] Transfer send_some(const char* from, std::size_t size);
  [[nodiscard]] bool wait_to_send(short event);

  int socket_;
  std::unique_ptr<TlsSession> tls_;
  std::string received_;  // not used yet
  std::string_view presented_;
  Stopwatch request_;       // since the head began to be read
  double blocked_s_ = 0.0;  // time that the peer did not take the answer
  std::size_t sent_ = 0;    // bytes of the answer
};

}  // namespace carpool::serve
