#include "app/remote/post_notice.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "app/cli/exit_code.hpp"
#include "app/remote/http_library.hpp"
#include "app/version.hpp"
#include "base/clock.hpp"
#include "run/supervisor/notice.hpp"

namespace carpool::app {
namespace {

// Three tries and the pauses between them end before the supervisor ends this process.
constexpr time_t kConnectS = 4;
constexpr time_t kSendS = 3;
constexpr time_t kAnswerS = 8;
constexpr std::array kPauses = {std::chrono::seconds(1), std::chrono::seconds(5)};

constexpr int kTooManyRequests = 429;
constexpr int kServerErrors = 500;

struct Failure {
  std::string why;
  bool again = false;  // the service has not taken the document
};

Failure failure_of(httplib::Error error) {
  switch (error) {
    case httplib::Error::SSLServerVerification:
      return {"its certificate is not trusted"};
    case httplib::Error::SSLConnection:
      return {"it does not answer by TLS", true};
    case httplib::Error::Read:
      return {"it took the document and did not answer"};
    default:
      return {fmt::format("no connection ({})", httplib::to_string(error)), true};
  }
}

std::unique_ptr<httplib::ClientImpl> client_for(const WebAddress& address) {
  if (!address.tls) {
    return std::make_unique<httplib::ClientImpl>(address.host, address.port);
  }
  auto client = std::make_unique<httplib::SSLClient>(address.host, address.port);
  if (!client->is_valid() ||
      SSL_CTX_set_min_proto_version(client->ssl_context(), TLS1_2_VERSION) != 1) {
    return nullptr;
  }
  client->enable_server_certificate_verification(true);
  return client;
}

std::optional<Failure> post_once(const WebAddress& address, const std::string& document) {
  const NoPipeSignal no_signal;
  const std::unique_ptr<httplib::ClientImpl> client = client_for(address);
  if (!client) {
    return Failure{"TLS cannot be used: the OpenSSL library does not work"};
  }
  client->set_connection_timeout(kConnectS);
  client->set_write_timeout(kSendS);
  client->set_read_timeout(kAnswerS);
  client->set_url_encode(false);
  const httplib::Headers headers = {{"User-Agent", fmt::format("carpool/{}", kVersion)}};
  const httplib::Result answer = client->Post(address.path, headers, document, "application/json");
  if (!answer) {
    return failure_of(answer.error());
  }
  constexpr int kSuccess = 200;
  constexpr int kBeyondSuccess = 300;
  if (answer->status >= kSuccess && answer->status < kBeyondSuccess) {
    return std::nullopt;
  }
  return Failure{fmt::format("it answers HTTP {}", answer->status),
                 answer->status >= kServerErrors || answer->status == kTooManyRequests};
}

}  // namespace

Result<void> post_notice(const WebAddress& address,
                         const std::string& document,
                         const std::function<void(std::chrono::seconds)>& pause) {
  std::optional<Failure> failure = post_once(address, document);
  std::size_t tries = 1;
  while (failure && failure->again && tries <= kPauses.size()) {
    pause(kPauses[tries - 1]);
    failure = post_once(address, document);
    ++tries;
  }
  if (!failure) {
    return {};
  }
  return fail(ErrorCode::Unavailable,
              fmt::format("{}: {}{}",
                          address.service(),
                          failure->why,
                          tries > 1 ? fmt::format(", {} times", tries) : ""));
}

int run_post_notice() {
  const char* const where = std::getenv(run::kNoticeAddress);  // NOLINT(concurrency-mt-unsafe)
  const char* const what = std::getenv(run::kNoticeDocument);  // NOLINT(concurrency-mt-unsafe)
  if (where == nullptr || what == nullptr) {
    fmt::print(stderr, "nothing to post: carpool starts this command itself\n");
    return kExitUsage;
  }
  const Result<void> posted = parse_web_address(where).and_then([&](const WebAddress& address) {
    return post_notice(address, what, [](std::chrono::seconds span) { pause_for(span); });
  });
  if (!posted) {
    fmt::print(stderr, "{}\n", posted.error().message);
    return kExitFailure;
  }
  return kExitOk;
}

}  // namespace carpool::app
