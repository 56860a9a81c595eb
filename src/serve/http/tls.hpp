// The server's side of TLS, over sockets that do not block.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "base/result.hpp"

// Of OpenSSL, whose headers are large.
struct ssl_ctx_st;
struct ssl_st;

namespace carpool::serve {

// Certificate and key, for any number of connections.
class TlsContext {
 public:
  // `certificate`: PEM, the server's first, then those of the authorities in between. `key`: PEM
  // without a passphrase, in a file that no other user may read.
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> load(
      const std::filesystem::path& certificate, const std::filesystem::path& key);

  [[nodiscard]] ssl_ctx_st* get() const { return context_.get(); }

 private:
  explicit TlsContext(ssl_ctx_st* context);
  std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)> context_;
};

// One connection. Used by one thread.
class TlsSession {
 public:
  enum class Step { Done, NeedsRead, NeedsWrite, Ended };

  TlsSession(const TlsContext& context, int socket);

  // Each does what is possible now. NeedsRead and NeedsWrite: to be called again when the socket is
  // ready for that.
  [[nodiscard]] Step accept();
  [[nodiscard]] Step read(char* to, std::size_t size, std::size_t& got);
  [[nodiscard]] Step write(const char* from, std::size_t size, std::size_t& sent);
  // Whether bytes were received that are not read yet; the socket does not tell.
  [[nodiscard]] bool has_more() const;
  // Tells the peer that no more bytes follow.
  void close();

 private:
  [[nodiscard]] Step step_of(int result);

  std::unique_ptr<ssl_st, void (*)(ssl_st*)> session_;
  bool usable_ = false;  // the handshake is complete and no error has happened
};

}  // namespace carpool::serve
