#include "serve/http/http_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <set>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "serve/http/conversation.hpp"
#include "serve/http/listening.hpp"
#include "serve/http/reserve_threads.hpp"

namespace carpool::serve {
namespace {

constexpr std::size_t kMostConnections = 1024;
constexpr std::size_t kOperatorThreads = 4;
constexpr std::size_t kSpareDescriptors = 4;
constexpr int kMostAtOnce = 64;
constexpr std::chrono::seconds kStopGrace{5};  // for answers that are being sent
constexpr std::chrono::milliseconds kPause{100};

// At most half of the descriptors, so that jobs can be started whatever clients do.
std::size_t most_connections() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) {
    return kMostConnections;
  }
  return std::clamp<std::size_t>(files.rlim_cur / 2, 8, kMostConnections);
}

// One key for an IPv4 address and for an IPv6 network of 64 bits, which one caller commonly has.
FairShare::Key key_of(const sockaddr_storage& address) {
  FairShare::Key key = 0;
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 ip{};
    std::memcpy(&ip, &address, sizeof ip);
    std::memcpy(&key, &ip.sin6_addr, sizeof key);
  } else {
    sockaddr_in ip{};
    std::memcpy(&ip, &address, sizeof ip);
    key = ip.sin_addr.s_addr;
  }
  return key;
}

Descriptor next_connection(int listener, sockaddr_storage& from) {
  socklen_t size = sizeof from;
  auto* address = reinterpret_cast<sockaddr*>(&from);  // the type of the system call
  return Descriptor(::accept4(listener, address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool out_of_descriptors() {
  return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
}

}  // namespace

struct HttpServer::State {
  // An accepted connection that waits for its thread.
  struct Accepted {
    Descriptor socket{};
    std::optional<std::uint32_t> peer{};  // empty: TCP
    FairShare::Held place{};
  };

  HttpService service;
  Descriptor unix_listener;
  Descriptor tcp_listener;
  std::mutex mutex{};
  std::condition_variable fewer{};
  std::set<int> connections{};
  bool stopping = false;
  // Used by the acceptor only.
  std::vector<Descriptor> spares{};
  std::map<std::uint32_t, bool> operators{};
  std::thread acceptor{};
  ReserveThreads reserve{};  // ends first: its threads use the others

  State(JobApi& api, const HttpSettings& how, Descriptor unix_socket, Descriptor tcp_socket)
      : service{.api = api,
                .settings = how,
                .router = Router(api, unix_socket.get()),
                .shares = ConnectionShares(most_connections())},
        unix_listener(std::move(unix_socket)),
        tcp_listener(std::move(tcp_socket)) {}

  // Does not throw: the last thing that a thread of a connection does.
  void talk(Accepted& accepted) noexcept {
    const int socket = accepted.socket.get();
    try {
      Conversation(service, socket, accepted.peer, std::move(accepted.place)).run();
    } catch (const std::exception& problem) {
      log_error(problem.what());
    }
    const std::scoped_lock lock(mutex);
    connections.erase(socket);
    accepted.socket
        .reset();  // under the lock: the number must not be reused while it is in the set
    fewer.notify_all();
  }

  // Asks for the groups of a user once; a directory service may be slow.
  [[nodiscard]] bool operates(std::uint32_t uid) {
    constexpr std::size_t kMostKnown = 4096;
    if (operators.size() > kMostKnown) {
      operators.clear();
    }
    const auto [found, added] = operators.try_emplace(uid, false);
    if (added) {
      found->second = service.caller(uid).operates;
    }
    return found->second;
  }

  [[nodiscard]] FairShare::Held admit(const Accepted& accepted, const sockaddr_storage& from) {
    if (!accepted.peer) {
      return service.shares.strangers.hold(key_of(from), 1);
    }
    FairShare::Held place = service.shares.users.hold(*accepted.peer, 1);
    if (!place && operates(*accepted.peer)) {
      place = service.shares.operators.hold(*accepted.peer, 1);
    }
    return place;
  }

  void turn_away(const Accepted& accepted, std::string_view why) {
    const ApiAnswer answer = busy_answer(why);
    service.api.count(answer.status);
    if (!accepted.peer && service.settings.tls) {
      return;  // an answer needs a handshake, for which there is no thread
    }
    const std::string text = closing_text(answer);
    [[maybe_unused]] const ssize_t sent =
        ::send(accepted.socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void start_talking(Accepted accepted) {
    const bool operator_waits = accepted.peer && operates(*accepted.peer);
    const auto shared = std::make_shared<Accepted>(std::move(accepted));
    {
      const std::scoped_lock lock(mutex);
      connections.insert(shared->socket.get());
    }
    Result<std::thread> thread = start_thread([this, shared] { talk(*shared); });
    if (thread) {
      thread->detach();
      return;
    }
    if (operator_waits && reserve.offer([this, shared] { talk(*shared); })) {
      return;
    }
    turn_away(*shared, "the server cannot start a thread for this connection");
    const std::scoped_lock lock(mutex);
    connections.erase(shared->socket.get());
  }

  // With a spare descriptor where there is no other.
  [[nodiscard]] Descriptor accept_one(int listener, sockaddr_storage& from, bool& last_resort) {
    Descriptor socket = next_connection(listener, from);
    last_resort = !socket.valid() && out_of_descriptors();
    if (last_resort && !spares.empty()) {
      spares.pop_back();
      socket = next_connection(listener, from);
    }
    return socket;
  }

  // False: no client waits, or none can be accepted now.
  bool accept_from(int listener, bool local) {
    while (spares.size() < kSpareDescriptors) {
      Descriptor spare(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!spare.valid()) {
        break;
      }
      spares.push_back(std::move(spare));
    }
    sockaddr_storage from{};
    bool last_resort = false;
    Accepted accepted{.socket = accept_one(listener, from, last_resort)};
    if (!accepted.socket.valid()) {
      if (last_resort) {
        pause_for(kPause);  // the client still waits: without a pause this would be asked at once
      }
      return false;
    }
    if (local) {
      const Result<std::uint32_t> uid = peer_of(accepted.socket.get());
      if (!uid) {
        return true;
      }
      accepted.peer = *uid;
    } else {
      // Otherwise the end of an answer waits until its beginning is acknowledged: 40 ms.
      const int on = 1;
      ::setsockopt(accepted.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (last_resort && !(accepted.peer && operates(*accepted.peer))) {
      turn_away(accepted, "the server has no file descriptor left");
      return true;
    }
    accepted.place = admit(accepted, from);
    if (!accepted.place) {
      turn_away(accepted, "too many connections are open");
      return true;
    }
    start_talking(std::move(accepted));
    return true;
  }

  void accept_all() noexcept {
    while (true) {
      std::array<pollfd, 2> waiting = {pollfd{unix_listener.get(), POLLIN, 0},
                                       pollfd{tcp_listener.get(), POLLIN, 0}};
      constexpr int kLookMs = 200;  // how often to check whether to stop
      ::poll(waiting.data(), waiting.size(), kLookMs);
      {
        const std::scoped_lock lock(mutex);
        if (stopping) {
          return;
        }
      }
      for (const pollfd& source : waiting) {
        if ((source.revents & POLLIN) == 0) {
          continue;
        }
        try {
          // Bounded, so that neither listener keeps the other waiting.
          for (int i = 0;
               i < kMostAtOnce && accept_from(source.fd, source.fd == unix_listener.get());
               ++i) {
          }
        } catch (const std::exception&) {  // short of memory: the connection is closed
          pause_for(kPause);
        }
      }
    }
  }

  void shut_down(int how) {
    for (const int socket : connections) {
      ::shutdown(socket, how);
    }
  }
};

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  stop();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(JobApi& api, const HttpSettings& settings) {
  if (const Result<void> safe = check_tcp(settings); !safe) {
    return tl::unexpected(safe.error());
  }
  Result<Descriptor> local = listen_on_socket(settings.socket, settings.group);
  if (!local) {
    return tl::unexpected(local.error());
  }
  Result<Descriptor> tcp = settings.listen ? listen_on_tcp(*settings.listen) : Descriptor();
  if (!tcp) {
    ::unlink(settings.socket.c_str());
    return tl::unexpected(tcp.error());
  }
  auto state = std::make_unique<State>(api, settings, std::move(*local), std::move(*tcp));
  Result<void> started = state->reserve.start(kOperatorThreads);
  if (started) {
    started = start_thread([raw = state.get()] { raw->accept_all(); }).map([&](std::thread thread) {
      state->acceptor = std::move(thread);
    });
  }
  if (!started) {
    ::unlink(settings.socket.c_str());
    return tl::unexpected(started.error());
  }
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
  ::unlink(state_->service.settings.socket.c_str());
  state_->service.router.stop_streaming();
  {
    std::unique_lock lock(state_->mutex);
    const auto ended = [&] { return state_->connections.empty(); };
    state_->shut_down(SHUT_RD);  // an answer that is being sent is completed
    if (!state_->fewer.wait_for(lock, kStopGrace, ended)) {
      state_->shut_down(SHUT_RDWR);  // by a client who does not take it
      state_->fewer.wait(lock, ended);
    }
  }
  state_->reserve.stop();
}

}  // namespace carpool::serve
