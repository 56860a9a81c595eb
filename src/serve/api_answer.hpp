// What a request is answered with, apart from HTTP: results as JSON, errors with their status.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::serve {

struct ApiAnswer {
  int status = 200;
  std::string body{};
  std::string type = "application/json";
  std::map<std::string, std::string> headers{};
};

[[nodiscard]] ApiAnswer json_answer(const nlohmann::json& value, int status = 200);
[[nodiscard]] ApiAnswer json_answer(const Result<nlohmann::json>& value);

[[nodiscard]] ApiAnswer error_answer(int status, std::string_view message);
[[nodiscard]] ApiAnswer error_answer(const Error& error);

// How the message of an Unsupported error ends whose status is 403: the job is somebody else's.
inline constexpr std::string_view kNotYours = "is another user's";

}  // namespace carpool::serve
