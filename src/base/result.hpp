// The one way errors travel: anything the outside world can make fail returns a Result.
#pragma once

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <tl/expected.hpp>

namespace carpool {

// The kind of an error. Callers, the HTTP status (serve/api_answer.hpp) and the exit code
// (app/cli/exit_code.hpp) depend on it, never on the message. A new kind needs a row in
// kErrorKinds, both mappings, and a row in docs/api.md.
enum class ErrorCode {
  InvalidInput,     // the user or a file gave a value that is not accepted
  NotFound,         // a named file, workload, job … does not exist
  Conflict,         // the state does not allow it now: the job has ended, the folder is in use
  Unauthenticated,  // the caller is unknown
  Forbidden,        // the caller is known and may not do this
  LimitReached,     // the caller already has as many of these as one user may have
  Corrupt,          // a file that Carpool wrote is truncated or altered
  Unavailable,      // no server answers, or it is stopping
  Unsupported,      // this model, dataset or machine cannot do what was requested
  Internal,         // the operating system or a library failed; stays last
};

struct ErrorKind {
  ErrorCode code;
  std::string_view word;  // in the API; does not change
};

inline constexpr std::array kErrorKinds = {
    ErrorKind{ErrorCode::InvalidInput, "invalid-input"},
    ErrorKind{ErrorCode::NotFound, "not-found"},
    ErrorKind{ErrorCode::Conflict, "conflict"},
    ErrorKind{ErrorCode::Unauthenticated, "unauthenticated"},
    ErrorKind{ErrorCode::Forbidden, "forbidden"},
    ErrorKind{ErrorCode::LimitReached, "limit-reached"},
    ErrorKind{ErrorCode::Corrupt, "corrupt"},
    ErrorKind{ErrorCode::Unavailable, "unavailable"},
    ErrorKind{ErrorCode::Unsupported, "unsupported"},
    ErrorKind{ErrorCode::Internal, "internal"},
};
static_assert(kErrorKinds.size() == static_cast<std::size_t>(ErrorCode::Internal) + 1);

[[nodiscard]] constexpr std::string_view name_of(ErrorCode code) {
  return kErrorKinds.at(static_cast<std::size_t>(code)).word;
}

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;  // what was tried, on what, what was found, what to do
};

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

// The text of errno, for the message of an Internal error.
[[nodiscard]] inline std::string last_error() {
  return std::generic_category().message(errno);
}

[[nodiscard]] inline tl::unexpected<Error> invalid_input(std::string message) {
  return fail(ErrorCode::InvalidInput, std::move(message));
}

[[nodiscard]] inline tl::unexpected<Error> not_found(std::string message) {
  return fail(ErrorCode::NotFound, std::move(message));
}

[[nodiscard]] inline tl::unexpected<Error> conflict(std::string message) {
  return fail(ErrorCode::Conflict, std::move(message));
}

[[nodiscard]] inline tl::unexpected<Error> forbidden(std::string message) {
  return fail(ErrorCode::Forbidden, std::move(message));
}

}  // namespace carpool
