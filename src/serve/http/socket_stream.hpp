// A connected socket as a stream of the HTTP library. Included by .cpp files only.
#pragma once

#include <array>
#include <httplib.h>
#include <string>

namespace carpool::serve {

class SocketStream final : public httplib::Stream {
 public:
  SocketStream(int socket, int timeout_ms) : socket_(socket), timeout_ms_(timeout_ms) {}

  [[nodiscard]] bool is_readable() const override;
  [[nodiscard]] bool is_writable() const override;
  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  [[nodiscard]] socket_t socket() const override { return socket_; }

  // Whether bytes arrive within that time; false also when the peer has closed.
  [[nodiscard]] bool wait_readable(int timeout_ms) const;

 private:
  int socket_;
  int timeout_ms_;
  std::array<char, 8192> buffer_{};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace carpool::serve
