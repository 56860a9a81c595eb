#include "serve/api_answer.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::serve {
namespace {

using nlohmann::json;

ApiAnswer answer_of(int status, const json& body) {
  return {.status = status, .body = body.dump(-1, ' ', false, json::error_handler_t::replace)};
}

ApiAnswer error_body(int status, ErrorCode code, std::string_view message) {
  return answer_of(
      status, json{{"error", {{"status", status}, {"kind", name_of(code)}, {"message", message}}}});
}

std::string text_at(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidInput:
      return 400;
    case ErrorCode::Unauthenticated:
      return 401;
    case ErrorCode::Forbidden:
      return 403;
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::Conflict:
      return 409;
    case ErrorCode::LimitReached:
      return 429;
    case ErrorCode::Unsupported:
      return 501;
    case ErrorCode::Unavailable:
      return 503;
    case ErrorCode::Corrupt:
    case ErrorCode::Internal:
      break;
  }
  return 500;
}

ErrorCode kind_of_status(int status) {
  // Corrupt and Internal share a status; the reader of a status alone learns the general one.
  for (const ErrorKind& kind : kErrorKinds) {
    if (kind.code != ErrorCode::Corrupt && http_status(kind.code) == status) {
      return kind.code;
    }
  }
  return status >= 400 && status < 500 ? ErrorCode::InvalidInput : ErrorCode::Internal;
}

ApiAnswer json_answer(const json& value) {
  return answer_of(200, value);
}

ApiAnswer json_answer(const Result<json>& value) {
  return value ? json_answer(*value) : error_answer(value.error());
}

ApiAnswer error_answer(const Error& error) {
  return error_body(http_status(error.code), error.code, error.message);
}

ApiAnswer error_answer(const tl::unexpected<Error>& error) {
  return error_answer(error.value());
}

ApiAnswer error_answer(int status, std::string_view message) {
  return error_body(status, kind_of_status(status), message);
}

ApiAnswer busy_answer(std::string_view why) {
  ApiAnswer answer =
      error_answer(fail(ErrorCode::Unavailable, fmt::format("{}; try again in a moment", why)));
  answer.headers.emplace("Retry-After", "1");
  return answer;
}

Error read_error(int status, std::string_view body) {
  const json answer = json::parse(body, nullptr, /*allow_exceptions=*/false);
  const json error = answer.is_object() ? answer.value("error", json::object()) : json::object();
  const std::string word = text_at(error, "kind");
  const auto kind = std::ranges::find(kErrorKinds, word, &ErrorKind::word);
  const std::string message = text_at(error, "message");
  return {kind != kErrorKinds.end() ? kind->code : kind_of_status(status),
          message.empty() ? fmt::format("the server answered with status {}", status) : message};
}

}  // namespace carpool::serve
