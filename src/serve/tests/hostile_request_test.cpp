// Clients that send what a server must not take, or do not take what it sends.

#include <future>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "serve/tests/http_client.hpp"

namespace carpool::serve {
namespace {

using HostileRequest = HttpServerTest;

TEST_F(HostileRequest, WhatIsNotReadIsRefusedWithTheReason) {
  const std::string post = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n";
  for (const auto& [request, status, says] :
       {std::tuple(post + "\r\n", 411, "Content-Length"),
        std::tuple(post + "Transfer-Encoding: chunked\r\n\r\nffffff\r\n", 411, "Content-Length"),
        std::tuple(
            post + "Content-Length: 4\r\nContent-Encoding: gzip\r\n\r\n....", 415, "Encoding"),
        std::tuple(post + "Content-Length: 4194305\r\n\r\n", 413, "4194304"),
        std::tuple(post + "X: " + std::string(40'000, 'y'), 431, "headers"),
        std::tuple("GET /" + std::string(40'000, 'y'), 414, "request line"),
        std::tuple(std::string("GET / HTTP/1.1\nHost: x\r\n\r\n"), 400, "malformed")}) {
    const HttpAnswer answer = answer_to(request);
    ASSERT_EQ(answer.status, status) << request.substr(0, 100);
    EXPECT_EQ(error_of(answer).at("status"), status);
    EXPECT_NE(error_of(answer).at("message").get<std::string>().find(says), std::string::npos);
    EXPECT_NE(answer.headers.find("Connection: close"), std::string::npos);
  }
}

TEST_F(HostileRequest, RequestsOfOneConnectionAreAnsweredInTurn) {
  const std::string get = "GET /healthz HTTP/1.1\r\nHost: x\r\n";
  const HttpAnswer answer =
      answer_to("POST /v1/jobs HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}" + get +
                "Content-Length: 3\r\n\r\nabc" + get + "Connection: close\r\n\r\n");
  EXPECT_EQ(answer.status, 400);  // no command
  std::size_t ok = 0;
  for (std::size_t at = 0; (at = answer.body.find("HTTP/1.1 200 OK", at)) != std::string::npos;
       ++at) {
    ++ok;
  }
  EXPECT_EQ(ok, 2U);
}

TEST_F(HostileRequest, AClientThatAsksWhetherToContinueIsTold) {
  const Descriptor socket = connect_to(socket_);
  const std::string head =
      "POST /v1/jobs HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: "
      "2\r\n\r\n";
  ASSERT_GT(::send(socket.get(), head.data(), head.size(), MSG_NOSIGNAL), 0);
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  std::string told(kContinue.size(), '\0');
  ASSERT_EQ(::recv(socket.get(), told.data(), told.size(), MSG_WAITALL),
            static_cast<ssize_t>(told.size()));
  EXPECT_EQ(told, kContinue);
  ASSERT_EQ(::send(socket.get(), "{}", 2, MSG_NOSIGNAL), 2);
  EXPECT_EQ(answer_of(read_all(socket)).status, 400);
}

TEST_F(HostileRequest, RangesAndCompressionAreNotAnswered) {
  std::string ranges = "0-0";
  for (int i = 0; i < 1000; ++i) {
    ranges += ",0-0";
  }
  const HttpAnswer answer = answer_to(
      "GET /metrics HTTP/1.1\r\nConnection: close\r\nAccept-Encoding: gzip, br\r\nRange: bytes=" +
      ranges + "\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.find("Content-Encoding"), std::string::npos);
}

TEST_F(HostileRequest, BodiesThatAreHeldLeaveMemoryForOtherUsers) {
  // Almost whole bodies, which the server waits for.
  const std::string almost =
      "POST /v1/jobs HTTP/1.1\r\nContent-Length: 4194304\r\n\r\n" + std::string(4'194'000, '[');
  std::vector<Descriptor> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(connect_to(socket_));
    EXPECT_EQ(::send(clients.back().get(), almost.data(), almost.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(almost.size()));
  }
  const HttpAnswer more = answer_to(almost);
  EXPECT_EQ(more.status, 503);
  EXPECT_NE(more.headers.find("Retry-After: 1"), std::string::npos);
  EXPECT_TRUE(test_.api().memory().hold(77, std::size_t{4} << 20U));
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

TEST_F(HostileRequest, AClientThatTakesNoAnswerDoesNotKeepTheServerFromStopping) {
  for (int i = 0; i < 200; ++i) {
    const std::string job = R"({"argv": ["train"], "mem": "1G", "name": ")" +
                            std::string(200, 'n') + R"(", "array": "1-50"})";
    ASSERT_EQ(ask("POST", "/v1/jobs", job).status, 200);
  }
  std::vector<Descriptor> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(connect_to(socket_));
    const std::string request = "GET /v1/jobs?all=1&limit=20000 HTTP/1.1\r\n\r\n";
    ASSERT_GT(::send(clients.back().get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
    char first = 0;
    ASSERT_EQ(::recv(clients.back().get(), &first, 1, 0), 1);  // the answer has begun
  }
  const Stopwatch watch;
  server_->stop();
  EXPECT_LT(watch.seconds(), 25.0);  // a client may stall for 30 s otherwise
}

TEST_F(HostileRequest, OneUserCannotTakeAllConnections) {
  // The user of the test is the one of the server and has the places of operators besides.
  constexpr std::size_t kClients = 400;
  std::vector<Descriptor> clients;
  clients.reserve(kClients);
  while (clients.size() < kClients) {
    clients.push_back(connect_to(socket_));
  }
  const HttpAnswer refused = answer_to("");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.headers.find("Retry-After: 1"), std::string::npos);
  clients.clear();
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

}  // namespace
}  // namespace carpool::serve
