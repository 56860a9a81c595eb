// The calls by which a program declares its requests.
#pragma once

namespace carpool::interpose {

// NOLINTBEGIN(readability-identifier-naming): names for C programs
extern "C" {
// A request begins: all launches of the process belong to it until carpool_request_end(). In a
// best-effort program, an iteration of it.
__attribute__((visibility("default"))) void carpool_request_begin();
__attribute__((visibility("default"))) void carpool_request_end();
}
// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
