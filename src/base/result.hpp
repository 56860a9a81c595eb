// The one way errors travel: anything the outside world can make fail returns a Result.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace carpool {

// A new code needs a caller that acts differently on it.
enum class ErrorCode {
  InvalidInput,  // the user or a file said something we cannot accept; exit code 2
  NotFound,      // a named file, workload, model … does not exist; exit code 2
  Corrupt,       // a file of ours is truncated or altered; exit code 1
  Unavailable,   // a server that should answer does not; exit code 69
  Unsupported,   // this model, dataset or machine cannot do what was asked; exit code 1
  Internal,      // the operating system or a library refused; exit code 1
};

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;  // what was tried, on what, what was found, what to do
};

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

[[nodiscard]] inline tl::unexpected<Error> invalid_input(std::string message) {
  return fail(ErrorCode::InvalidInput, std::move(message));
}

}  // namespace carpool
