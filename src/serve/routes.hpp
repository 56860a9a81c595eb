// The paths of the API and what answers them. Included by .cpp files only.
#pragma once

#include <httplib.h>

#include "serve/job_api.hpp"

namespace carpool::serve {

// The caller of the request that this thread answers.
class CurrentCaller {
 public:
  explicit CurrentCaller(const Caller& caller);
  CurrentCaller(const CurrentCaller&) = delete;
  CurrentCaller& operator=(const CurrentCaller&) = delete;
  ~CurrentCaller();
  [[nodiscard]] static const Caller& get();
};

// Requests without a valid token are answered by this path: 401.
inline constexpr const char* kUnauthorizedPath = "/unauthorized";

void add_routes(httplib::Server& server, JobApi& api);

}  // namespace carpool::serve
