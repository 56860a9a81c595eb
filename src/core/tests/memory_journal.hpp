// A journal that keeps everything in memory, for tests. It leaves nothing out of replay(), so the
// base class answers for last_job(), outcome() and history().
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "core/job_journal.hpp"

namespace carpool {

class MemoryJournal final : public JobJournal {
 public:
  Result<void> append(std::span<JobEvent> added) override {
    if (full) {
      return fail(ErrorCode::Unavailable, "cannot be written: the disk is full");
    }
    if (failing) {
      return fail(ErrorCode::Internal, "the disk is full");
    }
    std::vector<JobId> fresh;
    for (const JobEvent& event : added) {
      if (!std::holds_alternative<JobSubmitted>(event.what)) {
        continue;
      }
      if (!submitted_.insert(event.job).second) {
        std::ranges::for_each(fresh, [&](JobId job) { submitted_.erase(job); });
        return fail(ErrorCode::Internal, "a job is submitted once");
      }
      fresh.push_back(event.job);
    }
    ++appends;
    for (JobEvent& event : added) {
      event.sequence = static_cast<std::int64_t>(events.size()) + 1;
      events.push_back(event);
    }
    return {};
  }
  Result<void> replay(const std::function<void(const JobEvent&)>& each) const override {
    for (const JobEvent& event : events) {
      each(event);
    }
    return {};
  }

  std::vector<JobEvent> events;
  int appends = 0;
  bool failing = false;
  std::atomic<bool> full = false;  // for a while

 private:
  std::set<JobId> submitted_;
};

}  // namespace carpool
