// Which path is answered by which part of the API. Included by .cpp files only.
#pragma once

#include <httplib.h>

#include "serve/job_api.hpp"

namespace carpool::serve {

// Who calls, on the thread that answers them.
class CurrentCaller {
 public:
  explicit CurrentCaller(const Caller& caller);
  CurrentCaller(const CurrentCaller&) = delete;
  CurrentCaller& operator=(const CurrentCaller&) = delete;
  ~CurrentCaller();
  [[nodiscard]] static const Caller& get();
};

// Answers 401, whatever was asked for.
inline constexpr const char* kUnauthorizedPath = "/unauthorized";

void add_routes(httplib::Server& server, JobApi& api);

}  // namespace carpool::serve
