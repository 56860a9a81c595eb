#include "app/server/server_client.hpp"

#include <charconv>
#include <cstdlib>
#include <httplib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/runtime_folder.hpp"
#include "serve/api_answer.hpp"

namespace carpool::app {

using nlohmann::json;

namespace {

bool is_ours(const std::filesystem::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

}  // namespace

struct ServerClient::State {
  std::filesystem::path socket;
  httplib::Client http;

  State(std::filesystem::path path, std::chrono::seconds patience)
      : socket(std::move(path)), http(socket.string()) {
    http.set_address_family(AF_UNIX);
    http.set_keep_alive(true);
    http.set_read_timeout(patience);
  }

  [[nodiscard]] tl::unexpected<Error> nobody() const {
    return fail(ErrorCode::Unavailable,
                fmt::format("no server answers on {}; `carpool serve` starts one, --socket names "
                            "another",
                            socket.string()));
  }

  // The answer, or the server's complaint.
  [[nodiscard]] Result<httplib::Response> checked(const httplib::Result& result) const {
    if (!result) {
      return nobody();
    }
    if (result->status >= 200 && result->status < 300) {
      return *result;
    }
    return tl::unexpected(serve::read_error(result->status, result->body));
  }
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
  // The folder may be one that everybody can write to: a socket of somebody else is not ours.
  std::filesystem::path own = personal_socket();
  std::error_code ignored;
  if ((is_ours(own) && is_ours(own.parent_path())) ||
      !std::filesystem::exists(kSystemSocket, ignored)) {
    return own;
  }
  return kSystemSocket;
}

ServerClient::ServerClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
ServerClient::ServerClient(ServerClient&&) noexcept = default;
ServerClient& ServerClient::operator=(ServerClient&&) noexcept = default;
ServerClient::~ServerClient() = default;

Result<ServerClient> ServerClient::connect(const ServerOptions& options,
                                           std::chrono::seconds patience) {
  ServerClient client(std::make_unique<State>(server_socket(options), patience));
  std::error_code ignored;
  if (!std::filesystem::exists(client.state_->socket, ignored)) {
    return client.state_->nobody();
  }
  // What somebody else put there would hear our jobs, with their environment.
  if (const auto& socket = client.state_->socket;
      socket == personal_socket() && !(is_ours(socket) && is_ours(socket.parent_path()))) {
    return invalid_input(
        fmt::format("{} is another user's; name a server with --socket", socket.string()));
  }
  return client;
}

namespace {

Result<json> parsed(const httplib::Response& response) {
  json body = json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (body.is_discarded()) {
    return fail(ErrorCode::Internal, "the server's answer is no JSON; is it of this version?");
  }
  return body;
}

}  // namespace

Result<json> ServerClient::get(const std::string& path) {
  return state_->checked(state_->http.Get(path)).and_then(parsed);
}

Result<json> ServerClient::post(const std::string& path, const json& body) {
  std::string text;
  try {
    text = body.dump();
  } catch (const json::exception&) {
    return invalid_input("arguments and variables of a job must be UTF-8 text");
  }
  return state_->checked(state_->http.Post(path, text, "application/json")).and_then(parsed);
}

Result<LogPart> ServerClient::get_log(const std::string& path) {
  return state_->checked(state_->http.Get(path)).map([](httplib::Response response) {
    LogPart part;
    const std::string next = response.get_header_value("X-Carpool-Offset");
    std::from_chars(next.data(), next.data() + next.size(), part.next);
    part.over = response.get_header_value("X-Carpool-Over") == "1";
    part.bytes = std::move(response.body);
    return part;
  });
}

}  // namespace carpool::app
