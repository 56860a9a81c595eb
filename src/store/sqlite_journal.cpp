#include "store/sqlite_journal.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.hpp"
#include "store/journal_check.hpp"
#include "store/journal_kind.hpp"
#include "store/journal_repair.hpp"
#include "store/private_files.hpp"
#include "store/schema.hpp"
#include "store/state_files.hpp"

namespace carpool::store {
namespace {

// A journal that can be used. Damage is repaired where nothing is lost by it: indexes and tables
// are written anew from the events.
Result<JournalCheck> usable_journal(const std::filesystem::path& folder) {
  auto check = check_journal(folder, CheckDepth::Start);
  if (!check || (check->problems.empty() && !check->missing && !check->refusal)) {
    return check;
  }
  if (check->problems.empty() || check->refusal) {
    return tl::unexpected(unusable(folder, *check));
  }
  const auto repaired = repair_journal(folder, *check, RepairMode::OnlyWithoutLoss);
  if (!repaired) {
    return tl::unexpected(repaired.error());
  }
  if (!repaired->complete) {
    return tl::unexpected(unusable(folder, *check));
  }
  log_warning(fmt::format(
      "{} was damaged: {}. It was written anew with all {} events of {} jobs; nothing is lost. The "
      "damaged file is {}",
      journal_file(folder).string(),
      fmt::join(check->problems, "; "),
      repaired->events,
      repaired->jobs,
      repaired->damaged_file.string()));
  auto again = check_journal(folder, CheckDepth::Start);
  if (again && !again->problems.empty()) {
    return tl::unexpected(unusable(folder, *again));
  }
  return again;
}

}  // namespace

SqliteJournal::SqliteJournal(std::filesystem::path folder, const Options& options, FolderLock lock)
    : folder_(std::move(folder)),
      file_(journal_file(folder_)),
      options_(options),
      lock_(std::move(lock)) {}

SqliteJournal::~SqliteJournal() = default;

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const std::filesystem::path& folder,
                                                           const Options& options) {
  if (auto secure = tighten_modes(folder); !secure) {
    return tl::unexpected(secure.error());
  }
  auto lock = FolderLock::take(folder);
  if (!lock) {
    return tl::unexpected(lock.error());
  }
  if (const auto claimed = claim_folder(folder, options.simulated); !claimed) {
    return tl::unexpected(claimed.error());
  }
  const auto check = usable_journal(folder);
  if (!check) {
    return tl::unexpected(check.error());
  }
  std::unique_ptr<SqliteJournal> journal(new SqliteJournal(folder, options, std::move(*lock)));
  return journal->open_database(*check).map([&] { return std::move(journal); });
}

Result<void> SqliteJournal::open_database(const JournalCheck& check) {
  if (check.marker_damaged) {
    log_warning(fmt::format("{} was damaged and is written anew", marker_file(folder_).string()));
  }
  // Created before SQLite does, whose files have modes by the umask; the log takes the mode of it.
  if (auto made = open_private(file_); !made) {
    return tl::unexpected(made.error());
  }
  auto database = SqlDatabase::open(file_);
  if (!database) {
    return tl::unexpected(database.error());
  }
  database_ = std::move(*database);
  auto ready =
      migrate(database_, file_.string(), check.marker ? check.marker->identity : new_identity());
  if (!ready) {
    return ready;
  }
  const auto identity = database_.text("SELECT identity FROM journal");
  const auto last_event = database_.number(
      "SELECT max((SELECT coalesce(max(sequence), 0) FROM events),"
      "           (SELECT coalesce(max(last), 0) FROM gaps))");
  auto writer = EventWriter::prepare(database_);
  if (!identity || !last_event || !writer) {
    return tl::unexpected(!identity     ? identity.error()
                          : !last_event ? last_event.error()
                                        : writer.error());
  }
  identity_ = *identity;
  database_.set_identity(identity_);
  last_event_ = *last_event;
  last_job_ = std::max({check.last_job, check.marker ? check.marker->job : 0, check.highest_run});
  writer_ = std::move(*writer);
  return MarkerFile::create(folder_,
                            {.identity = identity_, .events = last_event_, .job = last_job_})
      .map([&](MarkerFile&& made) { marker_ = std::move(made); });
}

Result<void> SqliteJournal::append(std::span<JobEvent> events) {
  if (events.empty()) {
    return {};
  }
  Result<void> done = append_all(events);
  if (!done) {
    (void)database_.execute("ROLLBACK");
    writer_->rolled_back();
    for (JobEvent& event : events) {
      event.sequence = 0;
    }
  }
  return done;
}

Result<void> SqliteJournal::append_all(std::span<JobEvent> events) {
  std::int64_t sequence = last_event_;
  JobId job = last_job_;
  for (JobEvent& event : events) {
    event.sequence = ++sequence;
    job = std::max(job, event.job);
  }
  Result<void> done = marker_.before(job);
  if (done) {
    done = database_.execute("BEGIN IMMEDIATE");
  }
  for (auto event = events.begin(); done && event != events.end(); ++event) {
    done = writer_->write(*event);
  }
  if (done) {
    done = database_.execute("COMMIT");
  }
  if (done) {
    last_event_ = sequence;
    last_job_ = job;
    marker_.after(last_event_, last_job_);
  }
  return done;
}

}  // namespace carpool::store
