// The jobs: a record of each, more about those that are not over, and who waits for whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "core/cluster_snapshot.hpp"
#include "core/job_event.hpp"
#include "core/job_journal.hpp"
#include "core/job_record.hpp"

namespace carpool::schedule {

// A job that is not over.
struct LiveJob {
  JobRecord* record = nullptr;
  QueuedJob view{};       // what the policy sees
  std::string key{};      // workload_key()
  std::size_t after = 0;  // jobs that it still waits for
  double eligible_s = 0.0;
  std::optional<double> charged_since_s{};  // its running attempt, to its owner; empty: it is not
  std::uint64_t offered = 0;   // number of the last question to the policy that it was part of
  double expected_s = 0.0;     // run time that its place in the queue follows; may be a guess
  double longest_s = kNoTime;  // that it runs, even at half its speed; kNoTime: not known
  // What JobNeeds made the need in `view` from.
  std::uint64_t history_seen = 0;
  std::optional<std::uint64_t> reserve_seen{};
  bool needs_all = false;

  // What its owner requests has changed.
  void forget_needs() { history_seen = std::numeric_limits<std::uint64_t>::max(); }
};

// What a job waits for another one to do.
enum class AfterRule { Succeeds, Ends, Fails };

// Only EventLog changes it, by the events of jobs.
class JobTable {
 public:
  // The journal outlives it, and knows the outcome of jobs whose records are gone.
  JobTable(const JobJournal& journal, std::size_t keep_ended)
      : journal_(journal), keep_ended_(keep_ended) {}

  // Null: there is no such job, or it is over.
  [[nodiscard]] LiveJob* live(JobId job);
  [[nodiscard]] const LiveJob* live(JobId job) const;
  [[nodiscard]] Result<LiveJob*> live_or_error(JobId job);
  // Null: there is no such job, or its record was dropped.
  [[nodiscard]] const JobRecord* find(JobId job) const;
  [[nodiscard]] std::vector<JobId> ids() const;
  // Jobs with an attempt that began and was not dealt with yet; by id.
  [[nodiscard]] std::vector<JobId> begun() const;
  [[nodiscard]] bool knows(JobId job) const;
  [[nodiscard]] JobId last_job() const { return last_job_; }
  [[nodiscard]] std::size_t live_jobs_of(std::uint32_t uid) const;

  // Ids up to this one were given.
  void raise_last_job(JobId job);
  // The event's change of the record; for a new job also its live part.
  [[nodiscard]] Result<LiveJob*> apply(const JobEvent& event);
  // After the JobClosed of a live job. The answer: jobs that waited for it and need wait no longer.
  [[nodiscard]] std::vector<LiveJob*> close(JobId job, RunEnd end, double at_s);

  // A job that waits for another one, which ended otherwise.
  struct Doomed {
    JobId job = 0;
    JobId cause = 0;
    bool succeeded = false;  // the other one

    [[nodiscard]] std::string reason() const;  // why it is cancelled
  };
  // The live part of a job that is not in the table, as if it were; changes nothing.
  struct Newcomer {
    LiveJob job{};
    std::optional<Doomed> doomed{};  // it would be cancelled at once
  };
  [[nodiscard]] Result<Newcomer> newcomer(JobRecord& record) const;
  [[nodiscard]] std::optional<Doomed> take_doomed();

 private:
  // How a job ended; empty: it has not, or there is no such job.
  [[nodiscard]] Result<std::optional<RunEnd>> outcome(JobId job) const;
  // Of the jobs that it comes after: those that have not ended, and those that ended otherwise.
  struct Dependencies {
    std::vector<std::pair<JobId, AfterRule>> open{};
    std::vector<Doomed> broken{};
  };
  [[nodiscard]] Result<Dependencies> dependencies(const JobRecord& record) const;
  [[nodiscard]] Result<LiveJob*> add(JobRecord& record);

  const JobJournal& journal_;
  std::size_t keep_ended_;
  std::map<JobId, JobRecord> records_;
  std::unordered_map<JobId, LiveJob> live_;
  std::deque<JobId> ended_;  // in that order, of those in records_
  std::unordered_map<JobId, std::vector<std::pair<JobId, AfterRule>>> dependants_;
  std::vector<Doomed> doomed_;
  std::unordered_map<std::uint32_t, std::size_t> live_of_user_;
  JobId last_job_ = 0;
};

}  // namespace carpool::schedule
