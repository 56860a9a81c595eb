#include "app/remote/remote_words.hpp"

#include <openssl/x509_vfy.h>

#include <fmt/format.h>

namespace carpool::app {
namespace {

std::string remote_command(const RemoteAccess& access) {
  // The parser of addresses lets no character through that a shell would act upon.
  return access.program + " relay" +
         (access.address.socket.empty() ? "" : " --socket " + access.address.socket);
}

std::string authorities(const RemoteAccess& access) {
  return access.ca_file.empty() ? "the authorities of this system" : access.ca_file.string();
}

}  // namespace

std::vector<std::string> ssh_command(const RemoteAccess& access) {
  const ServerAddress& address = access.address;
  // Nothing but the connection: no terminal, agent, X11 or forwarded port, and no question.
  std::vector<std::string> words = {"ssh",
                                    "-T",
                                    "-a",
                                    "-x",
                                    "-o",
                                    "BatchMode=yes",
                                    "-o",
                                    "ClearAllForwardings=yes",
                                    "-o",
                                    "LogLevel=ERROR"};
  if (address.port != 0) {
    words.insert(words.end(), {"-p", std::to_string(address.port)});
  }
  if (!address.user.empty()) {
    words.insert(words.end(), {"-l", address.user});
  }
  words.insert(words.end(), {"--", address.host, remote_command(access)});
  return words;
}

std::string certificate_problem(const RemoteAccess& access, long code) {
  const std::string where = access.address.text();
  switch (code) {
    case X509_V_OK:
      return fmt::format(
          "the certificate of {} is for another name than {}: use the name that it "
          "is for, or have {} added to it",
          where,
          access.address.host,
          access.address.host);
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format(
          "the certificate of {} is not valid now ({}): an administrator renews it "
          "and restarts the server; check the clock of this machine too",
          where,
          X509_verify_cert_error_string(code));
    default:
      return fmt::format(
          "the certificate of {} was not issued by {} ({}): ask an administrator "
          "for the certificate of the authority, and name its file with "
          "CARPOOL_CA_FILE",
          where,
          authorities(access),
          X509_verify_cert_error_string(code));
  }
}

}  // namespace carpool::app
