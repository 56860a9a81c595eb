// HTTP in front of the API: on a unix socket, where the kernel identifies the caller, and on
// request on TCP, where a token does.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "serve/http/http_settings.hpp"
#include "serve/job_api.hpp"

namespace carpool::serve {

class HttpServer {
 public:
  // Accepts requests from now on. The API outlives the server.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(JobApi& api,
                                                                 const HttpSettings& settings);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // Accepts no more requests; waits until every connection has ended.
  void stop();

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carpool::serve
