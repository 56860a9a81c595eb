// What would become of a job that was submitted now.
#pragma once

#include <cstddef>
#include <optional>

#include "core/placement_policy.hpp"

namespace carpool::schedule {

struct Arrival {
  QueuedJob job{};                      // as the policy would see it
  std::optional<Placement> starts{};    // now
  std::optional<Deferral> waits{};      // otherwise
  std::optional<Deferral> cancelled{};  // it would never start: a job that it waits for is over
  bool considered = false;              // by the policy; else the reason is another one
  std::size_t ahead = 0;                // jobs that may start, wait, and go before it
};

}  // namespace carpool::schedule
