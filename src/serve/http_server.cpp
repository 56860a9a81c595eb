#include "serve/http_server.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "serve/listening.hpp"
#include "serve/routes.hpp"
#include "serve/socket_stream.hpp"

namespace carpool::serve {
namespace {

constexpr std::size_t kMostConnections = 1024;
constexpr std::size_t kMostOfOneUser = 256;
constexpr std::size_t kMostRequestBytes = std::size_t{4} << 20U;
constexpr int kIdleMs = 10'000;
constexpr int kTransferMs = 10'000;
constexpr int kMostRequests = 1000;  // per connection

// The library's routing and parsing over connections that are accepted here: this way the peer's
// credentials are known before the request is read.
class Router final : public httplib::Server {
 public:
  explicit Router(int listening) {
    svr_sock_ = listening;  // without a socket the library stops streaming
    set_payload_max_length(kMostRequestBytes);
  }
  ~Router() override { svr_sock_ = INVALID_SOCKET; }
  void stop_streaming() { svr_sock_ = INVALID_SOCKET; }

  // False: close the connection.
  bool answer(SocketStream& stream,
              bool last,
              const std::function<void(httplib::Request&)>& arrived) {
    bool closed = false;
    return process_request(stream, last, closed, arrived) && !closed;
  }
};

}  // namespace

struct HttpServer::State {
  JobApi& api;
  HttpSettings settings;
  Descriptor unix_listener;
  Descriptor tcp_listener;
  Router router;
  std::mutex mutex{};
  std::condition_variable fewer{};
  std::set<int> connections{};
  std::map<std::uint32_t, std::size_t> by_user{};
  bool stopping = false;
  std::thread acceptor{};

  State(JobApi& the_api, HttpSettings how, Descriptor unix_socket, Descriptor tcp_socket)
      : api(the_api),
        settings(std::move(how)),
        unix_listener(std::move(unix_socket)),
        tcp_listener(std::move(tcp_socket)),
        router(unix_listener.get()) {
    add_routes(router, api);
  }

  // Registers a connection; false: too many.
  bool enter(int socket, std::uint32_t uid) {
    const std::scoped_lock lock(mutex);
    if (stopping || connections.size() >= kMostConnections || by_user[uid] >= kMostOfOneUser) {
      return false;
    }
    connections.insert(socket);
    ++by_user[uid];
    return true;
  }

  void leave(int socket, std::uint32_t uid) {
    const std::scoped_lock lock(mutex);
    connections.erase(socket);
    ::close(socket);  // under the lock: the number must not be reused while it is in the set
    if (--by_user[uid] == 0) {
      by_user.erase(uid);
    }
    fewer.notify_all();
  }

  [[nodiscard]] Caller caller(std::uint32_t uid) const {
    return make_caller(uid, ::geteuid(), settings.operators);
  }

  // The user whose token the request carries.
  [[nodiscard]] std::optional<Caller> by_token(const httplib::Request& request) const {
    const auto user = user_of_token(settings.tokens, request.get_header_value("Authorization"));
    const Result<std::uint32_t> uid = user ? user_id(*user) : Result<std::uint32_t>(kNobody);
    return user && uid ? std::optional(caller(*uid)) : std::nullopt;
  }

  void talk(int socket, std::optional<std::uint32_t> peer) {
    SocketStream stream(socket, kTransferMs);
    Caller who;
    if (peer) {
      who = caller(*peer);
    }
    const CurrentCaller current(who);
    bool known = peer.has_value();
    const auto arrived = [&](httplib::Request& incoming) {
      if (peer) {
        return;
      }
      const std::optional<Caller> caller_by_token = by_token(incoming);
      known = caller_by_token.has_value();
      who = caller_by_token.value_or(Caller{.uid = kNobody});
      if (!known) {
        incoming.method = "GET";
        incoming.path = kUnauthorizedPath;
      }
    };
    for (int request = 1; stream.wait_readable(kIdleMs); ++request) {
      const bool goes_on = router.answer(stream, request == kMostRequests, arrived);
      if (!goes_on || !known) {
        break;
      }
    }
    leave(socket, peer.value_or(kNobody));
  }

  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  void accept_from(int listener, bool local) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      return;
    }
    std::optional<std::uint32_t> peer;
    if (local) {
      const Result<std::uint32_t> uid = peer_of(socket);
      if (!uid) {
        ::close(socket);
        return;
      }
      peer = *uid;
    }
    if (!enter(socket, peer.value_or(kNobody))) {
      static constexpr std::string_view kBusy =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      [[maybe_unused]] const ssize_t sent =
          ::send(socket, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      ::close(socket);
      return;
    }
    std::thread([this, socket, peer] { talk(socket, peer); }).detach();
  }

  void accept_all() {
    while (true) {
      std::vector<pollfd> waiting = {{unix_listener.get(), POLLIN, 0}};
      if (tcp_listener.valid()) {
        waiting.push_back({tcp_listener.get(), POLLIN, 0});
      }
      constexpr int kLookMs = 200;  // how often to check whether to stop
      ::poll(waiting.data(), waiting.size(), kLookMs);
      {
        const std::scoped_lock lock(mutex);
        if (stopping) {
          return;
        }
      }
      for (const pollfd& source : waiting) {
        if ((source.revents & POLLIN) != 0) {
          accept_from(source.fd, source.fd == unix_listener.get());
        }
      }
    }
  }
};

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  stop();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(JobApi& api, const HttpSettings& settings) {
  if (settings.listen && settings.tokens.empty()) {
    return invalid_input("--listen needs --tokens FILE: TCP callers must send a token");
  }
  Result<Descriptor> local = listen_on_socket(settings.socket, settings.group);
  if (!local) {
    return tl::unexpected(local.error());
  }
  Result<Descriptor> tcp = settings.listen ? listen_on_tcp(*settings.listen) : Descriptor();
  if (!tcp) {
    return tl::unexpected(tcp.error());
  }
  auto state = std::make_unique<State>(api, settings, std::move(*local), std::move(*tcp));
  state->acceptor = std::thread([raw = state.get()] { raw->accept_all(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

void HttpServer::stop() {
  if (!state_->acceptor.joinable()) {
    return;
  }
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->acceptor.join();
  ::unlink(state_->settings.socket.c_str());
  state_->router.stop_streaming();
  std::unique_lock lock(state_->mutex);
  for (const int socket : state_->connections) {
    ::shutdown(socket, SHUT_RD);  // an answer that is being sent is completed
  }
  state_->fewer.wait(lock, [&] { return state_->connections.empty(); });
}

}  // namespace carpool::serve
