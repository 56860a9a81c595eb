// Questions of the API to the scheduler. Internal to serve/.
#pragma once

#include <new>

#include "serve/scheduler_loop.hpp"

namespace carpool::serve {

// For work that changes nothing: short of memory, it fails, and the scheduler goes on.
template <class T, class Work>
[[nodiscard]] Result<T> look(SchedulerLoop& loop, const Work& work) {
  return loop.ask<T>([&](schedule::Scheduler& scheduler, double now_s) -> Result<T> {
    try {
      return work(scheduler, now_s);
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::Unavailable, "the server is short of memory; try again in a moment");
    }
  });
}

}  // namespace carpool::serve
