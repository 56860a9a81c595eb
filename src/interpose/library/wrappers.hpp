// The functions that take the place of the driver's. Each passes its arguments to the real function
// of the same name.
#pragma once

#include "interpose/library/process.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

// NOLINTBEGIN: names and types are NVIDIA's
extern "C" {
#define DRIVER_CALL(NAME, TYPES) __attribute__((visibility("default"))) Status NAME TYPES;
#include "interpose/library/driver_calls.inc"
#undef DRIVER_CALL
#define DRIVER_COPY(NAME, PARAMETERS, ARGUMENTS, COUNT) \
  __attribute__((visibility("default"))) Status NAME PARAMETERS;
#include "interpose/library/copy_calls.inc"
#undef DRIVER_COPY
}
// NOLINTEND

// Calls the real function of a wrapper: REAL(cuMemFree_v2, pointer).
#define REAL(NAME, ...) call_real<decltype(NAME)>(Symbol::NAME __VA_OPT__(, ) __VA_ARGS__)

// A wrapper that does something after the driver:
// AFTER(name, parameters, what follows a call of the program, arguments…)
#define AFTER(NAME, PARAMETERS, FOLLOW, ...)       \
  Status NAME PARAMETERS {                         \
    const Call call;                               \
    const Status status = REAL(NAME, __VA_ARGS__); \
    if (call.counts()) {                           \
      FOLLOW;                                      \
    }                                              \
    return status;                                 \
  }

}  // namespace carpool::interpose
