// Threads that the system may refuse: a user who starts many processes must not end the server.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/result.hpp"

namespace carpool {

[[nodiscard]] inline tl::unexpected<Error> thread_failure(const std::system_error& problem) {
  return fail(ErrorCode::Unavailable,
              std::string("cannot start a thread: ") + problem.what() +
                  "; check the limits on processes (`ulimit -u`, TasksMax= of the service)");
}

template <class Work>
[[nodiscard]] Result<std::thread> start_thread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& problem) {
    return thread_failure(problem);
  }
}

}  // namespace carpool
