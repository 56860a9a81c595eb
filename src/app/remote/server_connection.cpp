#include "app/remote/server_connection.hpp"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <utility>

#include <fmt/format.h>

#include "app/remote/remote_words.hpp"
#include "app/remote/ssh_client.hpp"

namespace carpool::app {
namespace {

constexpr time_t kConnectSeconds = 15;

// What OpenSSL says of a failed handshake is of no help; a closed port and a port without TLS are.
Error tcp_problem(const RemoteAccess& access, httplib::Error error) {
  const std::string where = access.address.text();
  switch (error) {
    case httplib::Error::SSLConnection:
      return {ErrorCode::Unavailable,
              fmt::format("{} does not answer by TLS: it serves plain http, has too many "
                          "connections, or another program has this port",
                          where)};
    case httplib::Error::SSLLoadingCerts:
      return {
          ErrorCode::InvalidInput,
          fmt::format("CARPOOL_CA_FILE={}: no readable PEM certificates", access.ca_file.string())};
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
      return {ErrorCode::Unavailable,
              fmt::format("no server answers on {}: check the name, that `carpool serve --listen` "
                          "runs there, and that a firewall lets port {} pass",
                          where,
                          access.address.port)};
    default:
      return {ErrorCode::Unavailable,
              fmt::format("{} closed the connection without an answer{}",
                          where,
                          access.address.scheme == ServerAddress::Scheme::Http
                              ? "; if it expects TLS, write https://"
                              : "")};
  }
}

void set_up_tcp(httplib::ClientImpl& client, const RemoteAccess& access) {
  client.set_bearer_token_auth(access.token);
  client.set_connection_timeout(kConnectSeconds);
  client.set_tcp_nodelay(true);  // the body follows the head at once
}

std::string token_advice(const RemoteAccess& access) {
  return fmt::format(
      "; the token is that of {}, and `carpool token create USER` on the server's "
      "machine makes a new one",
      access.token_file.string());
}

Result<ServerConnection> connect_by_tls(const RemoteAccess& access) {
  auto client = std::make_unique<httplib::SSLClient>(access.address.host, access.address.port);
  if (!client->is_valid() ||
      SSL_CTX_set_min_proto_version(client->ssl_context(), TLS1_2_VERSION) != 1) {
    return fail(ErrorCode::Internal, "TLS cannot be used: the OpenSSL library does not work");
  }
  set_up_tcp(*client, access);
  client->enable_server_certificate_verification(true);
  if (!access.ca_file.empty()) {
    client->set_ca_cert_path(access.ca_file.string());
  }
  ServerConnection made{.token_advice = token_advice(access)};
  made.explain = [access, raw = client.get()](httplib::Error error) {
    return error == httplib::Error::SSLServerVerification
               ? Error{ErrorCode::Unauthenticated,
                       certificate_problem(access, raw->get_openssl_verify_result())}
               : tcp_problem(access, error);
  };
  made.http = std::move(client);
  return made;
}

}  // namespace

ServerConnection connect_to_socket(const std::filesystem::path& socket) {
  ServerConnection made{.http = std::make_unique<httplib::ClientImpl>(socket.string())};
  made.http->set_address_family(AF_UNIX);
  made.explain = [socket](httplib::Error) {
    return Error{
        ErrorCode::Unavailable,
        fmt::format("no server answers on {}; start one with `carpool serve`, or name one with "
                    "--socket",
                    socket.string())};
  };
  return made;
}

Result<ServerConnection> connect_from_afar(const RemoteAccess& access) {
  if (access.address.scheme == ServerAddress::Scheme::Https) {
    return connect_by_tls(access);
  }
  ServerConnection made;
  if (access.address.scheme == ServerAddress::Scheme::Ssh) {
    auto client = std::make_unique<SshClient>(access);
    made.explain = [raw = client.get()](httplib::Error) { return raw->explain(); };
    made.http = std::move(client);
    return made;
  }
  made.http = std::make_unique<httplib::ClientImpl>(access.address.host, access.address.port);
  set_up_tcp(*made.http, access);
  made.explain = [access](httplib::Error error) { return tcp_problem(access, error); };
  made.token_advice = token_advice(access);
  return made;
}

}  // namespace carpool::app
