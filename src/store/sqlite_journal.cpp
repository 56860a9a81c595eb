#include "store/sqlite_journal.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/job_history.hpp"
#include "core/job_json.hpp"
#include "core/job_names.hpp"
#include "store/schema.hpp"

namespace carpool::store {
namespace {

constexpr const char* kFileName = "jobs.sqlite";

std::optional<std::int64_t> whole(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

}  // namespace

struct SqliteJournal::Statements {
  SqlStatement begin{};
  SqlStatement commit{};
  SqlStatement rollback{};
  SqlStatement event{};
  SqlStatement submitted{};
  SqlStatement started{};
  SqlStatement ended{};
  SqlStatement closed{};

  [[nodiscard]] Result<void> prepare(const SqlDatabase& database) {
    const std::pair<SqlStatement*, const char*> all[] = {
        {&begin, "BEGIN IMMEDIATE"},
        {&commit, "COMMIT"},
        {&rollback, "ROLLBACK"},
        {&event, "INSERT INTO events(job, body) VALUES(?, ?)"},
        {&submitted,
         "INSERT INTO jobs(id, uid, user, name, workload, submitted_s) VALUES(?, ?, ?, ?, ?, ?)"},
        {&started, "UPDATE jobs SET started_s = ?, progress = ? WHERE id = ?"},
        // The end, as in JobRecord: not before the start, not after the event.
        {&ended,
         "INSERT INTO runs(job, attempt, workload, ended_s, end, run_s, progress, peak_bytes) "
         "SELECT id, ?1, workload, max(started_s, ?2), ?3, max(started_s, ?2) - started_s,"
         "       coalesce(progress, 1.0), ?4 FROM jobs WHERE id = ?5"},
        {&closed, "UPDATE jobs SET ended_s = ?, end = ?, reason = ? WHERE id = ?"},
    };
    for (const auto& [statement, text] : all) {
      auto prepared = database.prepare(text);
      if (!prepared) {
        return tl::unexpected(prepared.error());
      }
      *statement = std::move(*prepared);
    }
    return {};
  }
};

SqliteJournal::SqliteJournal(std::filesystem::path file, const Options& options, FolderLock lock)
    : file_(std::move(file)),
      options_(options),
      lock_(std::move(lock)),
      statements_(std::make_unique<Statements>()) {}

SqliteJournal::~SqliteJournal() = default;

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const std::filesystem::path& folder,
                                                           const Options& options) {
  auto lock = FolderLock::take(folder);
  if (!lock) {
    return tl::unexpected(lock.error());
  }
  std::unique_ptr<SqliteJournal> journal(
      new SqliteJournal(folder / kFileName, options, std::move(*lock)));
  auto database = SqlDatabase::open(journal->file_);
  if (!database) {
    return tl::unexpected(database.error());
  }
  journal->database_ = std::move(*database);
  if (auto ready = migrate(journal->database_, journal->file_.string()); !ready) {
    return tl::unexpected(ready.error());
  }
  if (auto ready = journal->statements_->prepare(journal->database_); !ready) {
    return tl::unexpected(ready.error());
  }
  return journal;
}

Result<void> SqliteJournal::append(std::span<JobEvent> events) {
  if (events.empty()) {
    return {};
  }
  Result<void> done = statements_->begin.run();
  for (auto event = events.begin(); done && event != events.end(); ++event) {
    done = append_one(*event);
  }
  if (done) {
    done = statements_->commit.run();
  }
  if (!done) {
    (void)statements_->rollback.run();
    for (JobEvent& event : events) {
      event.sequence = 0;
    }
  }
  return done;
}

Result<void> SqliteJournal::append_one(JobEvent& event) {
  const std::string body = event_line(event);
  if (auto written = statements_->event.bind(0, event.job).bind(1, body).run(); !written) {
    return written;
  }
  event.sequence = database_.last_row();
  return keep_tables(event);
}

// Tables that answer without a replay: which jobs are active, how others ended, what runs took.
Result<void> SqliteJournal::keep_tables(const JobEvent& event) {
  if (const auto* submitted = std::get_if<JobSubmitted>(&event.what)) {
    const std::string key = workload_key(submitted->spec);
    return statements_->submitted.bind(0, event.job)
        .bind(1, static_cast<std::int64_t>(submitted->owner.uid))
        .bind(2, submitted->owner.user)
        .bind(3, submitted->spec.name)
        .bind(4, key)
        .bind(5, event.at_s)
        .run();
  }
  if (const auto* started = std::get_if<JobStarted>(&event.what)) {
    return statements_->started.bind(0, event.at_s)
        .bind(1, started->predicted_progress)
        .bind(2, event.job)
        .run();
  }
  if (const auto* ended = std::get_if<JobEnded>(&event.what)) {
    const double ended_s =
        ended->exit.at_s > 0.0 ? std::min(ended->exit.at_s, event.at_s) : event.at_s;
    return statements_->ended.bind(0, static_cast<std::int64_t>(ended->attempt))
        .bind(1, ended_s)
        .bind(2, name_of(ended->exit.end))
        .bind(3, whole(ended->peak_bytes))
        .bind(4, event.job)
        .run();
  }
  if (const auto* closed = std::get_if<JobClosed>(&event.what)) {
    return statements_->closed.bind(0, event.at_s)
        .bind(1, name_of(closed->end))
        .bind(2, closed->reason)
        .bind(3, event.job)
        .run();
  }
  return {};
}

}  // namespace carpool::store
