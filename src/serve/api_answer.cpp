#include "serve/api_answer.hpp"

#include <nlohmann/json.hpp>

namespace carpool::serve {
namespace {

using nlohmann::json;

}  // namespace

ApiAnswer json_answer(const json& value, int status) {
  return {.status = status, .body = value.dump(-1, ' ', false, json::error_handler_t::replace)};
}

ApiAnswer json_answer(const Result<json>& value) {
  return value ? json_answer(*value) : error_answer(value.error());
}

ApiAnswer error_answer(int status, std::string_view message) {
  return json_answer(json{{"error", {{"status", status}, {"message", message}}}}, status);
}

ApiAnswer error_answer(const Error& error) {
  switch (error.code) {
    case ErrorCode::InvalidInput:
      return error_answer(400, error.message);
    case ErrorCode::NotFound:
      return error_answer(404, error.message);
    case ErrorCode::Unsupported:
      // The one thing that a caller may not do here.
      return error_answer(error.message.ends_with(kNotYours) ? 403 : 501, error.message);
    case ErrorCode::Unavailable:
    case ErrorCode::Corrupt:
    case ErrorCode::Internal:
      break;
  }
  return error_answer(503, error.message);
}

}  // namespace carpool::serve
