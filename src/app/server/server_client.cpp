#include "app/server/server_client.hpp"

#include <charconv>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/remote/remote_access.hpp"
#include "app/remote/server_connection.hpp"
#include "app/server/socket_access.hpp"
#include "base/clock.hpp"
#include "base/files/runtime_folder.hpp"
#include "base/log.hpp"
#include "serve/api_answer.hpp"

namespace carpool::app {

using nlohmann::json;

namespace {

bool belongs_to_user(const std::filesystem::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

}  // namespace

struct ServerClient::State {
  ServerConnection connection;

  State(ServerConnection made, std::chrono::seconds patience) : connection(std::move(made)) {
    connection.http->set_keep_alive(true);
    connection.http->set_read_timeout(patience);
  }

  // The answer, or the error that it carries.
  [[nodiscard]] Result<httplib::Response> checked(const httplib::Result& result) const {
    if (!result) {
      return tl::unexpected(connection.explain(result.error()));
    }
    if (result->status >= 200 && result->status < 300) {
      return *result;
    }
    Error error = serve::read_error(result->status, result->body);
    if (error.code == ErrorCode::Unauthenticated) {
      error.message += connection.token_advice;
    }
    return tl::unexpected(std::move(error));
  }

  // Asks again while the server has no room for the request, which it then has not begun.
  template <class Send>
  [[nodiscard]] Result<httplib::Response> ask(const Send& send) const {
    constexpr int kTries = 5;
    const NoPipeSignal quiet;
    httplib::Result result = send();
    for (int again = 1; again < kTries && is_full(result); ++again) {
      if (again == 1) {
        log_info("the server has no room for this request now; trying again");
      }
      pause_for(kFullPause);
      result = send();
    }
    return checked(result);
  }

  [[nodiscard]] static bool is_full(const httplib::Result& result) {
    constexpr int kServiceUnavailable = 503;
    return result && result->status == kServiceUnavailable && result->has_header("Retry-After");
  }
  static constexpr std::chrono::seconds kFullPause{1};
};

std::filesystem::path personal_socket() {
  return runtime_folder() / "carpool.sock";
}

std::filesystem::path server_socket(const ServerOptions& options) {
  if (options.socket) {
    return *options.socket;
  }
  if (const char* named = std::getenv("CARPOOL_SOCKET"); named != nullptr && *named != '\0') {
    return named;
  }
  // All users may be able to write to the folder: a socket of another user is not used.
  std::filesystem::path own = personal_socket();
  std::error_code ignored;
  if ((belongs_to_user(own) && belongs_to_user(own.parent_path())) ||
      !std::filesystem::exists(kSystemSocket, ignored)) {
    return own;
  }
  return kSystemSocket;
}

ServerClient::ServerClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
ServerClient::ServerClient(ServerClient&&) noexcept = default;
ServerClient& ServerClient::operator=(ServerClient&&) noexcept = default;
ServerClient::~ServerClient() = default;

Result<std::filesystem::path> reachable_socket(const ServerOptions& options) {
  std::filesystem::path socket = server_socket(options);
  std::error_code ignored;
  if (const auto problem = access_problem(socket)) {
    return tl::unexpected(*problem);
  }
  if (!std::filesystem::exists(socket, ignored)) {
    return tl::unexpected(connect_to_socket(socket).explain(httplib::Error::Connection));
  }
  // A socket of another user would receive the jobs with their environment.
  if (socket == personal_socket() &&
      !(belongs_to_user(socket) && belongs_to_user(socket.parent_path()))) {
    return invalid_input(
        fmt::format("{} belongs to another user; name a server with --socket", socket.string()));
  }
  return socket;
}

Result<ServerClient> ServerClient::connect(const ServerOptions& options,
                                           std::chrono::seconds patience) {
  const auto host = remote_host(options);
  Result<ServerConnection> made = host ? remote_access(*host).and_then(connect_from_afar)
                                       : reachable_socket(options).map(connect_to_socket);
  return std::move(made).map([&](ServerConnection connection) {
    return ServerClient(std::make_unique<State>(std::move(connection), patience));
  });
}

namespace {

Result<json> parsed(const httplib::Response& response) {
  json body = json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (body.is_discarded()) {
    return fail(ErrorCode::Internal,
                "the answer of the server is not JSON; check that its version is this one");
  }
  return body;
}

}  // namespace

Result<json> ServerClient::get(const std::string& path) {
  return state_->ask([&] { return state_->connection.http->Get(path); }).and_then(parsed);
}

Result<json> ServerClient::post(const std::string& path, const json& body) {
  std::string text;
  try {
    text = body.dump();
  } catch (const json::exception&) {
    return invalid_input("arguments and environment of a job must be UTF-8 text");
  }
  return state_->ask([&] { return state_->connection.http->Post(path, text, "application/json"); })
      .and_then(parsed);
}

Result<nlohmann::json> ServerClient::list_jobs(const std::string& query) {
  constexpr std::size_t kPage = 10'000;
  json jobs = json::array();
  std::string after;
  while (true) {
    Result<json> page = get(fmt::format("/v1/jobs?limit={}&{}{}", kPage, query, after));
    if (!page) {
      return page;
    }
    for (json& job : page->at("jobs")) {
      jobs.push_back(std::move(job));
    }
    if (!page->contains("next_after")) {
      return jobs;
    }
    after = fmt::format("&after={}", page->at("next_after").get<std::int64_t>());
  }
}

Result<LogPart> ServerClient::get_log(const std::string& path) {
  return state_->ask([&] { return state_->connection.http->Get(path); })
      .map([](httplib::Response response) {
        LogPart part;
        const std::string next = response.get_header_value("X-Carpool-Offset");
        std::from_chars(next.data(), next.data() + next.size(), part.next);
        part.over = response.get_header_value("X-Carpool-Over") == "1";
        part.bytes = std::move(response.body);
        return part;
      });
}

}  // namespace carpool::app
