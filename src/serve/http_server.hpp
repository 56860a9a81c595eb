// HTTP in front of the API: on a unix socket, where the kernel says who calls, and on TCP only when
// asked for, where a token does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "serve/job_api.hpp"

namespace carpool::serve {

struct HttpSettings {
  std::filesystem::path socket{};
  std::optional<std::string> group{};  // may connect besides the owner; empty: nobody
  std::optional<std::string> operators{};
  std::optional<std::string> listen{};          // "127.0.0.1:8470"
  std::map<std::string, std::string> tokens{};  // token to user; needed for `listen`
};

// One token and one user a line: "TOKEN user". The file must be readable by its owner alone.
[[nodiscard]] Result<std::map<std::string, std::string>> read_token_file(
    const std::filesystem::path& file);

class HttpServer {
 public:
  // Answers from now on. The API outlives it.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(JobApi& api,
                                                                 const HttpSettings& settings);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // No further requests; those under way are answered or cut off.
  void stop();

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carpool::serve
