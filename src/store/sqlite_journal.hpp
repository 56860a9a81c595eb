// The journal of jobs in a SQLite file. An event is on the disk when append() returns. Jobs that
// have ended keep their events, but only those of the latest are replayed: a restart costs what is
// alive, not what ever was.
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
#include "store/folder_lock.hpp"
#include "store/sqlite.hpp"

namespace carpool::store {

// A line of `carpool history`.
struct EndedJob {
  JobId id = 0;
  JobOwner owner{};
  std::string name{};
  std::string workload{};  // workload_key()
  double submitted_s = 0.0;
  std::optional<double> started_s{};  // its last attempt; empty: it never ran
  double ended_s = 0.0;
  RunEnd end = RunEnd::Succeeded;
  std::string reason{};
  // On one GPU: the most that an attempt took that ended well, and that others took.
  std::optional<std::uint64_t> peak_bytes{};
  std::optional<std::uint64_t> failed_peak_bytes{};
  std::optional<JobSpec> spec{};  // only where asked for, and not of the largest
};

struct EndedJobQuery {
  std::optional<std::uint32_t> uid{};  // of one user
  std::optional<JobId> before{};       // older than this job
  std::size_t most = 100;
  bool with_specs = false;  // each costs reading and parsing its first event
};

// One thread at a time. Holds the lock of its folder.
class SqliteJournal final : public JobJournal {
 public:
  struct Options {
    std::size_t replay_ended = 1000;  // of jobs that have ended, the latest so many are replayed
  };

  // The folder is there already.
  [[nodiscard]] static Result<std::unique_ptr<SqliteJournal>> open(
      const std::filesystem::path& folder, const Options& options);

  ~SqliteJournal() override;

  [[nodiscard]] Result<void> append(std::span<JobEvent> events) override;
  [[nodiscard]] Result<void> replay(
      const std::function<void(const JobEvent&)>& each) const override;
  [[nodiscard]] Result<JobId> last_job() const override;
  [[nodiscard]] Result<std::optional<RunEnd>> outcome(JobId job) const override;
  [[nodiscard]] Result<std::optional<JobHistory>> history() const override;

  // Newest first.
  [[nodiscard]] Result<std::vector<EndedJob>> ended_jobs(const EndedJobQuery& query) const;
  // All events of one job, however long ago; none: there is no such job.
  [[nodiscard]] Result<std::vector<JobEvent>> events_of(JobId job) const;
  // What they give.
  [[nodiscard]] Result<std::optional<JobRecord>> record_of(JobId job) const;

 private:
  struct Statements;

  SqliteJournal(std::filesystem::path file, const Options& options, FolderLock lock);
  [[nodiscard]] Result<void> append_one(JobEvent& event);
  [[nodiscard]] Result<void> keep_tables(const JobEvent& event);
  [[nodiscard]] Result<JobEvent> read_event(std::int64_t sequence, std::string_view body) const;
  [[nodiscard]] Result<void> add_specs(std::vector<EndedJob>& jobs) const;

  std::filesystem::path file_;
  Options options_;
  FolderLock lock_;
  SqlDatabase database_;
  std::unique_ptr<Statements> statements_;
};

}  // namespace carpool::store
