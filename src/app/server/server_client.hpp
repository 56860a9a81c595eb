// The client of the server: HTTP over its socket, or to another machine ($CARPOOL_HOST); JSON back.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/shared_options.hpp"
#include "base/result.hpp"

namespace carpool::app {

// The socket of the server: --socket, $CARPOOL_SOCKET, the one of the user if it exists, else the
// one of the machine.
[[nodiscard]] std::filesystem::path server_socket(const ServerOptions& options);
[[nodiscard]] std::filesystem::path personal_socket();
// The same where this user may connect to it; Unavailable where it does not exist.
[[nodiscard]] Result<std::filesystem::path> reachable_socket(const ServerOptions& options);
inline constexpr const char* kSystemSocket = "/run/carpool/carpool.sock";

// A piece of a job's output.
struct LogPart {
  std::string bytes{};
  std::uint64_t next = 0;  // the next offset
  bool over = false;       // the output is complete
};

class ServerClient {
 public:
  // Longer than any request of the server waits.
  static constexpr std::chrono::seconds kPatience{90};

  // Unavailable without a server. `patience`: the time limit of a request.
  [[nodiscard]] static Result<ServerClient> connect(const ServerOptions& options,
                                                    std::chrono::seconds patience = kPatience);
  ServerClient(ServerClient&&) noexcept;
  ServerClient& operator=(ServerClient&&) noexcept;
  ~ServerClient();

  // An error of the server keeps its kind and message.
  [[nodiscard]] Result<nlohmann::json> get(const std::string& path);
  [[nodiscard]] Result<nlohmann::json> post(const std::string& path, const nlohmann::json& body);
  // The jobs that /v1/jobs lists for this query, of all pages.
  [[nodiscard]] Result<nlohmann::json> list_jobs(const std::string& query);
  [[nodiscard]] Result<LogPart> get_log(const std::string& path);

 private:
  struct State;
  explicit ServerClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carpool::app
