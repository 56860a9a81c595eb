// Why a job waits, stands still, or ended.
#pragma once

#include <string>
#include <string_view>

#include "core/job_record.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::serve {

struct JobReason {
  std::string_view
      word{};  // for a listing: "Memory", "Held"; empty: it neither waits nor is paused
  std::string sentence{};
};
[[nodiscard]] JobReason reason_of(const schedule::Scheduler& scheduler, const JobRecord& job);

// What keeps a job waiting, as the API names it: "memory", "held"; `why`: as the scheduler tells
// it.
[[nodiscard]] std::string_view constraint_of(const schedule::Scheduler& scheduler,
                                             const JobRecord& job,
                                             const Deferral& why);

}  // namespace carpool::serve
