#include "app/cli/exit_code.hpp"

namespace carpool::app {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidInput:
    case ErrorCode::NotFound:
    case ErrorCode::Conflict:
      return kExitUsage;
    case ErrorCode::Unavailable:
      return kExitNoServer;
    case ErrorCode::Unauthenticated:
    case ErrorCode::Forbidden:
    case ErrorCode::LimitReached:
    case ErrorCode::Corrupt:
    case ErrorCode::Unsupported:
    case ErrorCode::Internal:
      break;
  }
  return kExitFailure;
}

}  // namespace carpool::app
