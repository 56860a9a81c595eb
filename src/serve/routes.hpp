// The paths of the API and what answers them. Included by .cpp files only.
#pragma once

#include <httplib.h>
#include <string_view>
#include <utility>

#include "serve/job_api.hpp"

namespace carpool::serve {

// The request that this thread answers: what the library does not know of it.
class CurrentRequest {
 public:
  // Both outlive this.
  CurrentRequest(const Caller& caller, std::string_view body);
  CurrentRequest(const CurrentRequest&) = delete;
  CurrentRequest& operator=(const CurrentRequest&) = delete;
  ~CurrentRequest();
  [[nodiscard]] static CurrentRequest& get();

  [[nodiscard]] const Caller& caller() const { return caller_; }
  [[nodiscard]] std::string_view body() const { return body_; }
  // Memory of the answer, until it is sent.
  void hold(FairShare::Held held) { held_ = std::move(held); }

 private:
  const Caller& caller_;
  std::string_view body_;
  FairShare::Held held_;
};

void add_routes(httplib::Server& server, JobApi& api);

}  // namespace carpool::serve
