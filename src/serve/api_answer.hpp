// The answer to a request, apart from HTTP, and the mapping between error kinds and HTTP statuses
// in both directions.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "serve/fair_share.hpp"

namespace carpool::serve {

struct ApiAnswer {
  int status = 200;
  std::string body{};
  std::string type = "application/json";
  std::map<std::string, std::string> headers{};
  FairShare::Held held{};  // memory of a large answer, until it is sent
};

// The HTTP status of an error kind. The table is in docs/api.md.
[[nodiscard]] int http_status(ErrorCode code);
// The kind of an error whose answer names none: a status of the HTTP library or of a proxy.
[[nodiscard]] ErrorCode kind_of_status(int status);

[[nodiscard]] ApiAnswer json_answer(const nlohmann::json& value);
[[nodiscard]] ApiAnswer json_answer(const Result<nlohmann::json>& value);

// {"error": {"status": 404, "kind": "not-found", "message": "…"}}
[[nodiscard]] ApiAnswer error_answer(const Error& error);
[[nodiscard]] ApiAnswer error_answer(const tl::unexpected<Error>& error);
// For a status that the HTTP library chose.
[[nodiscard]] ApiAnswer error_answer(int status, std::string_view message);

// 503 with Retry-After: what the request needs is in use. `why` is a clause.
[[nodiscard]] ApiAnswer busy_answer(std::string_view why);

// The error that such an answer carries.
[[nodiscard]] Error read_error(int status, std::string_view body);

}  // namespace carpool::serve
