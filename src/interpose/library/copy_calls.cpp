// Wrappers of the functions of copy_calls.inc.
#include "interpose/library/copies.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/requests/slo_wait.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

// NOLINTBEGIN(readability-identifier-naming)

#define PASS_ARGUMENTS(...) __VA_ARGS__
#define DRIVER_COPY(NAME, PARAMETERS, ARGUMENTS, COUNT)                                        \
  Status NAME PARAMETERS {                                                                     \
    const Call call;                                                                           \
    if (call.counts()) {                                                                       \
      COUNT;                                                                                   \
    }                                                                                          \
    const CopyOfRequest copy(call, request_copy(named_copy(#NAME), PASS_ARGUMENTS ARGUMENTS)); \
    return REAL(NAME, PASS_ARGUMENTS ARGUMENTS);                                               \
  }
#include "interpose/library/copy_calls.inc"
#undef DRIVER_COPY

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
