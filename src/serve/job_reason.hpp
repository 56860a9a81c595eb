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

}  // namespace carpool::serve
