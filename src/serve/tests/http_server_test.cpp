#include "serve/http/http_server.hpp"

#include <array>
#include <fstream>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "serve/tests/http_client.hpp"

namespace carpool::serve {

nlohmann::json HttpServerTest::error_of(const HttpAnswer& answer) {
  return nlohmann::json::parse(answer.body).at("error");
}

namespace {

TEST_F(HttpServerTest, EveryPathOfTheApiAnswers) {
  EXPECT_EQ(ask("POST", "/v1/jobs", R"({"argv": ["train"], "mem": "1G"})").body,
            R"({"ids":[1],"version":1})");
  test_.settle();
  for (const char* path : {"/v1/jobs",
                           "/v1/jobs?state=active",
                           "/v1/queue",
                           "/v1/jobs/1",
                           "/v1/jobs/1/explain",
                           "/v1/jobs/1/wait?wait_s=0",
                           "/v1/jobs/1/logs",
                           "/v1/gpus",
                           "/v1/history",
                           "/v1/status",
                           "/metrics",
                           "/healthz",
                           "/readyz"}) {
    EXPECT_EQ(ask("GET", path).status, 200) << path;
  }
  for (const char* verb : {"requeue", "cancel"}) {
    EXPECT_EQ(ask("POST", fmt::format("/v1/jobs/1/{}", verb), "{}").status, 200) << verb;
  }
  EXPECT_EQ(ask("POST", "/v1/drain", R"({"drain": true})").status, 200);
}

TEST_F(HttpServerTest, AnUnknownPathIsNotFound) {
  for (const char* path : {"/", "/v2/jobs", "/v1/jobs/x", "/v1/jobs/1/dance", "/v1/jobs/1/"}) {
    const HttpAnswer answer = ask("GET", path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(error_of(answer).at("kind"), "not-found");
    EXPECT_EQ(error_of(answer).at("message"),
              fmt::format("there is no path {}; see docs/api.md", path));
  }
}

TEST_F(HttpServerTest, AWrongMethodOfAKnownPathIsNotAllowed) {
  for (const auto& [method, path, allowed] : {std::array{"POST", "/v1/queue", "GET"},
                                              std::array{"GET", "/v1/drain", "POST"},
                                              std::array{"PUT", "/v1/jobs", "POST, GET"},
                                              std::array{"DELETE", "/v1/jobs/1", "GET"},
                                              std::array{"GET", "/v1/jobs/1/cancel", "POST"},
                                              std::array{"POST", "/v1/events", "GET"}}) {
    const HttpAnswer answer = ask(method, path);
    EXPECT_EQ(answer.status, 405) << method << " " << path;
    EXPECT_NE(answer.headers.find(fmt::format("Allow: {}", allowed)), std::string::npos);
    EXPECT_EQ(error_of(answer).at("status"), 405);
  }
}

TEST_F(HttpServerTest, AJobNumberThatIsTooLargeIsNotFound) {
  EXPECT_EQ(ask("GET", "/v1/jobs/99999999999999999999999").status, 404);
}

TEST_F(HttpServerTest, ARequestThatIsTooLargeIsRejected) {
  const Descriptor socket = connect_to(socket_);
  const std::string head =
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\n";
  ASSERT_GT(::send(socket.get(), head.data(), head.size(), MSG_NOSIGNAL), 0);
  ASSERT_EQ(::shutdown(socket.get(), SHUT_WR), 0);
  EXPECT_TRUE(read_all(socket).starts_with("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, EventsAreStreamedFromTheSequenceThatIsAskedFor) {
  const Descriptor watcher = connect_to(socket_);
  const std::string request = "GET /v1/events?since=0 HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_GT(::send(watcher.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
  EXPECT_EQ(ask("POST", "/v1/jobs", R"({"argv": ["train"], "mem": "1G"})").status, 200);
  std::string seen;
  std::array<char, 4096> part{};
  while (seen.find("event: started\n") == std::string::npos) {
    const ssize_t got = ::recv(watcher.get(), part.data(), part.size(), 0);
    ASSERT_GT(got, 0) << seen;
    seen.append(part.data(), static_cast<std::size_t>(got));
  }
  EXPECT_NE(seen.find("Content-Type: text/event-stream"), std::string::npos);
  EXPECT_NE(seen.find("id: 1\nevent: submitted\ndata: {"), std::string::npos);
  test_.events().close();  // as a server that stops does
}

TEST_F(HttpServerTest, TheSocketIsPrivateAndGoneAfterTheServer) {
  struct stat status{};
  ASSERT_EQ(::stat(socket_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  server_->stop();
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(HttpServerTest, TwoServersDoNotShareASocket) {
  const auto second = HttpServer::start(test_.api(), {.socket = socket_});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Conflict);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);  // the first is unharmed
}

TEST_F(HttpServerTest, TcpNeedsTokens) {
  const auto open =
      HttpServer::start(test_.api(), {.socket = test_.folder() / "other", .listen = "127.0.0.1:0"});
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message.find("--tokens"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(test_.folder() / "other"));
}

TEST_F(HttpServerTest, AnAddressThatOtherMachinesReachNeedsTls) {
  const std::filesystem::path tokens = test_.folder() / "tokens";
  std::ofstream(tokens) << token_file_text({});
  ASSERT_EQ(::chmod(tokens.c_str(), 0600), 0);
  const auto open = HttpServer::start(test_.api(),
                                      {.socket = test_.folder() / "other",
                                       .listen = "0.0.0.0:0",
                                       .tokens = std::make_shared<TokenStore>(tokens)});
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, ErrorCode::InvalidInput);
  EXPECT_NE(open.error().message.find("--tls-cert"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(test_.folder() / "other"));
}

}  // namespace
}  // namespace carpool::serve
