// The requests of one connection, one after the other. Included by .cpp files only.
#pragma once

#include <cstdint>
#include <httplib.h>
#include <optional>
#include <string>

#include "serve/fair_share.hpp"
#include "serve/http/http_server.hpp"
#include "serve/http/request_head.hpp"
#include "serve/http/socket_stream.hpp"
#include "serve/job_api.hpp"

namespace carpool::serve {

// The library's routing and answers over requests that are read and checked here.
class Router final : public httplib::Server {
 public:
  Router(JobApi& api, int listening);
  ~Router() override { svr_sock_ = INVALID_SOCKET; }
  void stop_streaming() { svr_sock_ = INVALID_SOCKET; }

  // False: close the connection.
  [[nodiscard]] bool answer(SocketStream& stream, bool last);
};

// Connections that may be open at a time.
struct ConnectionShares {
  explicit ConnectionShares(std::size_t most);

  FairShare users;      // by user
  FairShare strangers;  // TCP, before a token is seen; by address
  FairShare operators;  // for operators only, when `users` has no place for them
};

// What the conversations of a server have in common.
struct HttpService {
  JobApi& api;
  HttpSettings settings;
  Router router;
  ConnectionShares shares;

  [[nodiscard]] Caller caller(std::uint32_t uid) const;
};

class Conversation {
 public:
  // `peer` is the user whom the kernel names; empty: a token must. `place` is held meanwhile.
  Conversation(HttpService& service,
               int socket,
               std::optional<std::uint32_t> peer,
               FairShare::Held place);

  // Until the client or the server ends it. Does not throw.
  void run() noexcept;

 private:
  // False: close the connection.
  [[nodiscard]] bool answer_next(bool last);
  // Finds the user of a token and moves the connection to the user's share.
  [[nodiscard]] std::optional<ApiAnswer> identify(const RequestHead& head);
  [[nodiscard]] std::optional<ApiAnswer> read_body(const RequestHead& head,
                                                   std::string& body,
                                                   FairShare::Held& held);
  bool refuse(const ApiAnswer& answer);

  HttpService& service_;
  SocketStream stream_;
  bool local_;
  std::optional<Caller> caller_;
  FairShare::Held place_;
};

// The whole answer as it is sent when the connection is closed after it.
[[nodiscard]] std::string closing_text(const ApiAnswer& answer);

}  // namespace carpool::serve
