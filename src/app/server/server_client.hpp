// A client of the server: requests over its socket, JSON back.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/job_options.hpp"
#include "base/result.hpp"

namespace carpool::app {

// Where the server of these options listens: --socket, $CARPOOL_SOCKET, the user's own where it is
// there, else the machine's.
[[nodiscard]] std::filesystem::path server_socket(const ServerOptions& options);
[[nodiscard]] std::filesystem::path personal_socket();
inline constexpr const char* kSystemSocket = "/run/carpool/carpool.sock";

// A piece of a job's output.
struct LogPart {
  std::string bytes{};
  std::uint64_t next = 0;  // offset to go on from
  bool over = false;       // nothing will come any more
};

class ServerClient {
 public:
  // Longer than the server lets anybody wait.
  static constexpr std::chrono::seconds kPatience{90};

  // Unavailable where nobody answers. `patience`: the longest that a request may take.
  [[nodiscard]] static Result<ServerClient> connect(const ServerOptions& options,
                                                    std::chrono::seconds patience = kPatience);
  ServerClient(ServerClient&&) noexcept;
  ServerClient& operator=(ServerClient&&) noexcept;
  ~ServerClient();

  // The server's own words are the error's.
  [[nodiscard]] Result<nlohmann::json> get(const std::string& path);
  [[nodiscard]] Result<nlohmann::json> post(const std::string& path, const nlohmann::json& body);
  [[nodiscard]] Result<LogPart> get_log(const std::string& path);

 private:
  struct State;
  explicit ServerClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carpool::app
