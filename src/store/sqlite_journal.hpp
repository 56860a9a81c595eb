// The job journal in an SQLite file. Ended jobs keep their events, but only the latest are
// replayed: the time of a restart depends on active jobs, not on the length of the history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/job_journal.hpp"
#include "core/job_record.hpp"
#include "store/event_rows.hpp"
#include "store/folder_lock.hpp"
#include "store/journal_marker.hpp"
#include "store/sqlite.hpp"

namespace carpool::store {

struct JournalCheck;

// A line of `carpool history`.
struct EndedJob {
  JobId id = 0;
  JobOwner owner{};
  std::string name{};
  std::string workload{};  // workload_key()
  double submitted_s = 0.0;
  std::optional<double> started_s{};  // of the last attempt; empty: it never ran
  double ended_s = 0.0;
  RunEnd end = RunEnd::Succeeded;
  std::string reason{};
  // Highest peak on one GPU, of successful attempts and of others.
  std::optional<std::uint64_t> peak_bytes{};
  std::optional<std::uint64_t> failed_peak_bytes{};
  std::optional<JobSpec> spec{};  // with EndedJobQuery::with_specs, except for very large ones
  std::optional<JobAttempt> last_attempt{};  // with EndedJobQuery::with_attempts, if it ever ran
};

struct EndedJobQuery {
  std::optional<std::uint32_t> uid{};  // only this user
  std::optional<JobId> before{};       // only jobs with a lower id
  std::size_t most = 100;
  bool with_specs = false;     // reads and parses the first event of each job
  bool with_attempts = false;  // reads and parses all events of each job
};

// A place in the order in which jobs ended.
struct EndedPlace {
  double ended_s = 0.0;
  JobId id = 0;
};

// One thread at a time. Holds the lock of its folder.
class SqliteJournal final : public JobJournal {
 public:
  struct Options {
    std::size_t replay_ended = 1000;  // number of ended jobs that are replayed, the latest
    bool simulated = false;           // the server does not run jobs (journal_kind.hpp)
  };

  // The folder must exist. Its modes are tightened, the journal is checked (journal_check.hpp), and
  // damage that costs nothing is repaired with a warning in the log; else the journal is refused
  // with what to do.
  [[nodiscard]] static Result<std::unique_ptr<SqliteJournal>> open(
      const std::filesystem::path& folder, const Options& options);

  ~SqliteJournal() override;

  [[nodiscard]] Result<void> append(std::span<JobEvent> events) override;
  [[nodiscard]] Result<void> replay(
      const std::function<void(const JobEvent&)>& each) const override;
  [[nodiscard]] Result<JobId> last_job() const override;
  // The time of the last event; 0: there is none.
  [[nodiscard]] Result<double> last_event_s() const;
  [[nodiscard]] Result<std::optional<RunEnd>> outcome(JobId job) const override;
  [[nodiscard]] Result<std::optional<JobHistory>> history() const override;

  // 32 hexadecimal digits, the same for the life of the journal.
  [[nodiscard]] const std::string& identity() const { return identity_; }

  // Newest first.
  [[nodiscard]] Result<std::vector<EndedJob>> ended_jobs(const EndedJobQuery& query) const;
  // The jobs behind this place, the earliest end first. Takes as long as the answer is.
  [[nodiscard]] Result<std::vector<EndedPlace>> ended_after(const EndedPlace& place,
                                                            std::size_t most) const;
  // All events of one job; none: there is no such job.
  [[nodiscard]] Result<std::vector<JobEvent>> events_of(JobId job) const;
  // The state after these events.
  [[nodiscard]] Result<std::optional<JobRecord>> record_of(JobId job) const;

 private:
  SqliteJournal(std::filesystem::path folder, const Options& options, FolderLock lock);
  [[nodiscard]] Result<void> open_database(const JournalCheck& check);
  [[nodiscard]] Result<void> append_all(std::span<JobEvent> events);
  [[nodiscard]] Result<void> add_specs(std::vector<EndedJob>& jobs) const;

  std::filesystem::path folder_;
  std::filesystem::path file_;
  Options options_;
  FolderLock lock_;
  MarkerFile marker_;
  std::string identity_;
  std::int64_t last_event_ = 0;
  JobId last_job_ = 0;
  SqlDatabase database_;
  std::unique_ptr<EventWriter> writer_;
};

}  // namespace carpool::store
