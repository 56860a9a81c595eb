#include "serve/http/conversation.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "serve/routes.hpp"

namespace carpool::serve {
namespace {

constexpr int kMostRequests = 1000;  // per connection
constexpr double kIdleSeconds = 10.0;
constexpr double kHeadSeconds = 10.0;
constexpr double kStrangerSeconds = 5.0;  // until a token is seen
constexpr double kRequestSeconds = 60.0;  // head and body

constexpr std::size_t kMostStrangers = 64;
constexpr std::size_t kMostOfOneAddress = 16;
constexpr std::size_t kOperatorPlaces = 32;

std::optional<ApiAnswer> arrival_problem(SocketStream::Arrival arrival, const std::string& head) {
  switch (arrival) {
    case SocketStream::Arrival::TooSlow:
      return error_answer(408, "the request did not arrive in time");
    case SocketStream::Arrival::TooLarge:
      return head.find('\n') == std::string::npos
                 ? error_answer(
                       414,
                       fmt::format("the request line has more than {} bytes", kLongestRequestLine))
                 : error_answer(431,
                                fmt::format("the headers have more than {} bytes", kMostHeadBytes));
    case SocketStream::Arrival::Complete:
    case SocketStream::Arrival::Ended:
      break;
  }
  return std::nullopt;
}

// No account has this number.
constexpr std::uint32_t kScrapeUid = std::numeric_limits<std::uint32_t>::max();

bool reads_metrics(const RequestHead& head) {
  return head.text.starts_with("GET /metrics ") || head.text.starts_with("GET /metrics?");
}

// The user of a request over TCP. Jobs run as this user, so it needs an account here, and a server
// that cannot change its user serves only its own.
Result<std::uint32_t> user_of_request(const HttpSettings& settings, const RequestHead& head) {
  const auto user = settings.tokens->user_of(head.authorization);
  if (!user) {
    return fail(ErrorCode::Unauthenticated,
                "no valid token: it is missing, wrong or revoked (Authorization: Bearer TOKEN)");
  }
  if (*user == kScrapeUser) {
    return reads_metrics(head) ? Result<std::uint32_t>(kScrapeUid)
                               : forbidden("this token may read /metrics and nothing else");
  }
  Result<std::uint32_t> uid = user_id(*user);
  if (!uid) {
    return forbidden(fmt::format(
        "this token belongs to user {}, who has no account on the server's machine", *user));
  }
  if (::geteuid() != 0 && *uid != ::geteuid()) {
    return forbidden(
        fmt::format("this token belongs to user {}, and this personal server serves only user {}",
                    *user,
                    user_name(::geteuid())));
  }
  return uid;
}

}  // namespace

Router::Router(JobApi& api, int listening) {
  svr_sock_ = listening;  // without a socket the library stops streaming
  add_routes(*this, api);
}

bool Router::answer(SocketStream& stream, bool last) {
  bool closed = false;
  return process_request(stream, last, closed, [](httplib::Request&) {}) && !closed;
}

ConnectionShares::ConnectionShares(std::size_t most)
    : users(most, std::max<std::size_t>(most / 4, 1)),
      strangers(std::min(kMostStrangers, most), kMostOfOneAddress),
      operators(kOperatorPlaces, kOperatorPlaces) {}

Caller HttpService::caller(std::uint32_t uid) const {
  return make_caller(uid, ::geteuid(), settings.operators);
}

Conversation::Conversation(HttpService& service,
                           int socket,
                           std::optional<std::uint32_t> peer,
                           FairShare::Held place)
    : service_(service),
      stream_(socket, peer ? nullptr : service.settings.tls.get()),
      local_(peer.has_value()),
      caller_(peer ? std::optional(service.caller(*peer)) : std::nullopt),
      place_(std::move(place)) {}

void Conversation::run() noexcept {
  try {
    if (!stream_.begin(kStrangerSeconds)) {
      return;
    }
    for (int request = 1; request <= kMostRequests &&
                          stream_.wait_readable(caller_ ? kIdleSeconds : kStrangerSeconds);
         ++request) {
      if (!answer_next(request == kMostRequests)) {
        return;
      }
    }
  } catch (const std::exception& problem) {  // short of memory: only this connection ends
    log_error(problem.what());
  }
}

bool Conversation::answer_next(bool last) {
  std::string text;
  const SocketStream::Arrival arrival =
      stream_.read_head(text, kMostHeadBytes, caller_ ? kHeadSeconds : kStrangerSeconds);
  if (arrival != SocketStream::Arrival::Complete) {
    const auto problem = arrival_problem(arrival, text);
    return problem && refuse(*problem);
  }
  const tl::expected<RequestHead, Refusal> head = check_head(text);
  if (!head) {
    return refuse(error_answer(head.error().status, head.error().message));
  }
  if (const auto problem = identify(*head)) {
    return refuse(*problem);
  }
  std::string body;
  FairShare::Held held = service_.api.memory().hold(caller_->uid, 0);
  if (const auto problem = read_body(*head, body, held)) {
    return refuse(*problem);
  }
  CurrentRequest current(*caller_, body);
  stream_.present(head->text);
  return service_.router.answer(stream_, last);
}

std::optional<ApiAnswer> Conversation::identify(const RequestHead& head) {
  if (local_) {
    return std::nullopt;
  }
  const Result<std::uint32_t> uid = user_of_request(service_.settings, head);
  if (!uid) {
    return error_answer(uid.error());
  }
  if (caller_ && caller_->uid == *uid) {
    return std::nullopt;
  }
  caller_ = *uid == kScrapeUid ? Caller{.uid = *uid, .user = std::string(kScrapeUser)}
                               : service_.caller(*uid);
  place_ = service_.shares.users.hold(*uid, 1);
  if (!place_ && caller_->operates) {
    place_ = service_.shares.operators.hold(*uid, 1);
  }
  return place_ ? std::nullopt : std::optional(busy_answer("this user has too many connections"));
}

std::optional<ApiAnswer> Conversation::read_body(const RequestHead& head,
                                                 std::string& body,
                                                 FairShare::Held& held) {
  if (head.body_bytes == 0) {
    return std::nullopt;
  }
  if (head.expects_continue) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    stream_.write(kContinue.data(), kContinue.size());
  }
  const auto arrival = stream_.read_body(
      body, head.body_bytes, kRequestSeconds, [&](std::size_t more) { return held.grow(more); });
  switch (arrival) {
    case SocketStream::Arrival::Complete:
      return std::nullopt;
    case SocketStream::Arrival::TooSlow:
      return error_answer(408, "the body did not arrive in time");
    case SocketStream::Arrival::TooLarge:
      return busy_answer("the server holds as much as it may for requests");
    case SocketStream::Arrival::Ended:
      break;
  }
  return error_answer(400, "the body is shorter than Content-Length");
}

bool Conversation::refuse(const ApiAnswer& answer) {
  service_.api.count(answer.status);
  const std::string text = closing_text(answer);
  stream_.write(text.data(), text.size());
  stream_.linger();
  return false;
}

std::string closing_text(const ApiAnswer& answer) {
  std::string text = fmt::format(
      "HTTP/1.1 {} \r\nConnection: close\r\nContent-Type: {}\r\n", answer.status, answer.type);
  for (const auto& [name, value] : answer.headers) {
    text += fmt::format("{}: {}\r\n", name, value);
  }
  return text + fmt::format("Content-Length: {}\r\n\r\n{}", answer.body.size(), answer.body);
}

}  // namespace carpool::serve
