// Where job events are kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "core/job_event.hpp"
#include "core/job_history.hpp"

namespace carpool {

class JobJournal {
 public:
  JobJournal() = default;
  JobJournal(const JobJournal&) = delete;
  JobJournal& operator=(const JobJournal&) = delete;
  virtual ~JobJournal() = default;

  // Durable when it returns: all of them or none. Gives each its sequence number.
  [[nodiscard]] virtual Result<void> append(std::span<JobEvent> events) = 0;
  // All events in order, except those of jobs that ended so long ago that the journal keeps only
  // their outcome.
  [[nodiscard]] virtual Result<void> replay(
      const std::function<void(const JobEvent&)>& each) const = 0;

  // What such a journal remembers of the jobs that replay() leaves out; one that leaves out nothing
  // need not say anything.
  [[nodiscard]] virtual Result<JobId> last_job() const { return 0; }  // the highest id ever given
  // How a job ended; empty: it has not, or there is no such job.
  [[nodiscard]] virtual Result<std::optional<RunEnd>> outcome(JobId /*job*/) const {
    return std::nullopt;
  }
  // What all attempts that ended taught; empty: it is to be learned from replay().
  [[nodiscard]] virtual Result<std::optional<JobHistory>> history() const { return std::nullopt; }
};

}  // namespace carpool
