#include "serve/http/tls.hpp"

#include <new>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string>

#include <fmt/format.h>

#include "base/log.hpp"
#include "serve/access/private_file.hpp"

namespace carpool::serve {
namespace {

std::string tls_problem() {
  const unsigned long code = ERR_peek_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "unknown problem" : reason;
}

// The server has no terminal to ask on.
int no_passphrase(char* /*to*/, int /*size*/, int /*writing*/, void* /*data*/) {
  return -1;
}

Result<void> use_key(SSL_CTX* context, const std::filesystem::path& file) {
  const Result<std::string> text = read_private_file(file, "this key", Links::Followed);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const std::unique_ptr<BIO, int (*)(BIO*)> memory(
      BIO_new_mem_buf(text->data(), static_cast<int>(text->size())), BIO_free);
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(
      PEM_read_bio_PrivateKey(memory.get(), nullptr, no_passphrase, nullptr), EVP_PKEY_free);
  if (!key) {
    return invalid_input(
        fmt::format("--tls-key {}: not a PEM key without a passphrase: {}; `openssl pkey` removes "
                    "a passphrase",
                    file.string(),
                    tls_problem()));
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return invalid_input(fmt::format(
        "--tls-key {} is not the key of the certificate: {}", file.string(), tls_problem()));
  }
  return {};
}

void warn_of_expiry(SSL_CTX* context, const std::filesystem::path& file) {
  const X509* certificate = SSL_CTX_get0_certificate(context);
  if (certificate != nullptr && X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    log_warning(fmt::format(
        "--tls-cert {} has expired: clients will refuse it; renew it and restart the server",
        file.string()));
  }
}

// TLS 1.2 or newer; a connection cannot be resumed, renegotiated or compressed.
bool harden(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                       SSL_MODE_RELEASE_BUFFERS);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_num_tickets(context, 0) == 1;
}

}  // namespace

TlsContext::TlsContext(ssl_ctx_st* context) : context_(context, SSL_CTX_free) {}

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const std::filesystem::path& certificate,
                                                           const std::filesystem::path& key) {
  std::shared_ptr<const TlsContext> made(new TlsContext(SSL_CTX_new(TLS_server_method())));
  if (made->get() == nullptr || !harden(made->get())) {
    return fail(ErrorCode::Internal, fmt::format("prepare TLS: {}", tls_problem()));
  }
  if (SSL_CTX_use_certificate_chain_file(made->get(), certificate.c_str()) != 1) {
    return invalid_input(fmt::format(
        "--tls-cert {}: not a readable PEM certificate: {}", certificate.string(), tls_problem()));
  }
  if (const Result<void> used = use_key(made->get(), key); !used) {
    return tl::unexpected(used.error());
  }
  warn_of_expiry(made->get(), certificate);
  return made;
}

TlsSession::TlsSession(const TlsContext& context, int socket)
    : session_(SSL_new(context.get()), SSL_free) {
  if (!session_ || SSL_set_fd(session_.get(), socket) != 1) {
    throw std::bad_alloc();
  }
}

TlsSession::Step TlsSession::step_of(int result) {
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_NONE:
      return Step::Done;
    case SSL_ERROR_WANT_READ:
      return Step::NeedsRead;
    case SSL_ERROR_WANT_WRITE:
      return Step::NeedsWrite;
    default:
      usable_ = false;
      return Step::Ended;
  }
}

TlsSession::Step TlsSession::accept() {
  ERR_clear_error();
  const Step step = step_of(SSL_accept(session_.get()));
  usable_ = step == Step::Done;
  return step;
}

TlsSession::Step TlsSession::read(char* to, std::size_t size, std::size_t& got) {
  ERR_clear_error();
  return step_of(SSL_read_ex(session_.get(), to, size, &got));
}

TlsSession::Step TlsSession::write(const char* from, std::size_t size, std::size_t& sent) {
  ERR_clear_error();
  return step_of(SSL_write_ex(session_.get(), from, size, &sent));
}

bool TlsSession::has_more() const {
  return SSL_has_pending(session_.get()) == 1;
}

void TlsSession::close() {
  if (usable_) {
    ERR_clear_error();
    SSL_shutdown(session_.get());
    usable_ = false;
  }
}

}  // namespace carpool::serve
