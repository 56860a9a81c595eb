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

  // When it returns, all events are durable, or after an error none. Sets their sequence numbers.
  [[nodiscard]] virtual Result<void> append(std::span<JobEvent> events) = 0;
  // All events in order, except those of old jobs of which the journal keeps only the outcome.
  [[nodiscard]] virtual Result<void> replay(
      const std::function<void(const JobEvent&)>& each) const = 0;

  // For journals whose replay() leaves out jobs; others need not override these.
  [[nodiscard]] virtual Result<JobId> last_job() const { return 0; }  // the highest id ever given
  // How a job ended; empty: it has not, or there is no such job.
  [[nodiscard]] virtual Result<std::optional<RunEnd>> outcome(JobId /*job*/) const {
    return std::nullopt;
  }
  // Learned from all attempts that ended; empty: to be learned from replay().
  [[nodiscard]] virtual Result<std::optional<JobHistory>> history() const { return std::nullopt; }
};

}  // namespace carpool
