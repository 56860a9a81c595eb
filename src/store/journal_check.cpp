#include "store/journal_check.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/journal_content.hpp"
#include "store/page_images.hpp"
#include "store/schema.hpp"
#include "store/sqlite.hpp"
#include "store/state_files.hpp"

namespace carpool::store {
namespace {

constexpr std::size_t kMostProblems = 20;

// Collects what queries find; a query that fails is a problem too, because SQLite describes damage
// in many ways.
class Examiner {
 public:
  Examiner(SqlDatabase& database, JournalCheck& check) : database_(database), check_(check) {}

  void look_at_structure() {
    for (std::string& line : texts(fmt::format("PRAGMA integrity_check({})", kMostProblems))) {
      if (line != "ok") {
        std::ranges::replace(line, '\n', ' ');
        add(std::move(line));
      }
    }
  }

  void look_at_content(CheckDepth depth) {
    look_at_schema();
    look_at_identity();
    if (has_sums()) {
      look_at_sums();
    }
    look_at_numbers();
    if (depth == CheckDepth::Full && check_.problems.empty()) {
      for (std::string& problem : misfits(database_, has_sums())) {
        add(std::move(problem));
      }
    }
  }

 private:
  [[nodiscard]] bool has_sums() const {
    return check_.version >= static_cast<std::int64_t>(kVersionOfSums);
  }
  void add(std::string problem) {
    if (check_.problems.size() < kMostProblems) {
      check_.problems.push_back(std::move(problem));
    }
  }
  std::int64_t number(const std::string& query) {
    const auto value = database_.number(query);
    if (!value) {
      add(value.error().message);
    }
    return value.value_or(0);
  }
  // The first column of some rows.
  std::vector<std::string> texts(const std::string& query) {
    std::vector<std::string> found;
    auto rows = database_.prepare(query);
    const auto read = rows ? rows->for_rows([&](const SqlStatement& row) -> Result<void> {
      found.emplace_back(row.text(0));
      return {};
    })
                           : tl::unexpected(rows.error());
    if (!read) {
      add(read.error().message);
    }
    return found;
  }

  void look_at_schema() {
    const auto found = schema_text(database_);
    const auto wanted = expected_schema(check_.version);
    if (!found || !wanted || *found != *wanted) {
      add(!found ? found.error().message : "the definitions of its tables and indexes are damaged");
    }
  }

  void look_at_identity() {
    if (!has_sums()) {
      return;
    }
    check_.identity = database_.text("SELECT identity FROM journal").value_or("");
    database_.set_identity(check_.identity);
    if (!check_.marker || check_.marker->identity == check_.identity) {
      return;
    }
    // Rows that fit their own identity: a sound journal, but another one.
    if (check_.problems.empty() && wrong_sums(kSummedTables.front()).empty()) {
      check_.refusal = Error{ErrorCode::Conflict, "another"};
      return;
    }
    add("its identity is damaged");
    database_.set_identity(check_.marker->identity);
  }

  std::vector<std::string> wrong_sums(const SummedTable& table) {
    return texts(
        fmt::format("SELECT {} FROM {} NOT INDEXED WHERE sum IS NOT row_sum('{}', {}) LIMIT 6",
                    table.key,
                    table.name,
                    table.name,
                    table.columns));
  }

  void look_at_sums() {
    for (const SummedTable& table : kSummedTables) {
      if (const auto rows = wrong_sums(table); !rows.empty()) {
        add(fmt::format("table {}: wrong checksum at {} {}{}",
                        table.name,
                        table.key,
                        fmt::join(rows, ", "),
                        rows.size() > 5 ? ", …" : ""));
      }
    }
  }

  void look_at_numbers() {
    check_.events = number("SELECT count(*) FROM events NOT INDEXED");
    check_.last_event = number("SELECT coalesce(max(sequence), 0) FROM events NOT INDEXED");
    check_.jobs = number("SELECT count(*) FROM jobs NOT INDEXED");
    check_.last_job = number("SELECT coalesce(max(id), 0) FROM jobs NOT INDEXED");
    std::int64_t known_lost = 0;
    if (has_sums()) {
      known_lost = number("SELECT coalesce(sum(last - first + 1), 0) FROM gaps");
      check_.last_event =
          std::max(check_.last_event, number("SELECT coalesce(max(last), 0) FROM gaps"));
    }
    const std::int64_t missing = check_.last_event - check_.events - known_lost;
    if (missing != 0) {
      add(fmt::format("{} of its events are missing", missing));
    }
    if (number("SELECT count(DISTINCT job) FROM events") != check_.jobs) {
      add("its list of jobs does not fit its events");
    }
    if (check_.marker && check_.marker->events > check_.last_event) {
      add(fmt::format("the events {} to {}, which were acknowledged, are missing",
                      check_.last_event + 1,
                      check_.marker->events));
    }
  }

  SqlDatabase& database_;
  JournalCheck& check_;
};

Result<void> examine_file(const std::filesystem::path& state,
                          CheckDepth depth,
                          bool in_use,
                          JournalCheck& check) {
  const std::filesystem::path file = journal_file(state);
  if (!in_use) {
    const auto images = PageImages::read(file);
    if (!images) {
      return tl::unexpected(images.error());
    }
    if (!images->damage().empty()) {
      check.problems.push_back(images->damage());
    }
  }
  auto database = SqlDatabase::open(file, OpenMode::ReadOnly);
  if (!database) {
    return tl::unexpected(database.error());
  }
  // A large cache, because rows are looked up in indexes one by one; one transaction, because a
  // server may write meanwhile. If it cannot begin, neither can the queries below.
  (void)database->execute("PRAGMA cache_size = -131072; BEGIN");
  if (const auto ours = refuse_others(*database, file.string()); !ours) {
    // Where a journal is known to belong here, it is one whose header is damaged.
    if (ours.error().code == ErrorCode::Unsupported && !check.marker) {
      check.refusal = ours.error();
    } else {
      check.problems.push_back(ours.error().message);
    }
    return {};
  }
  const auto version = schema_version(*database);
  if (!version) {
    check.problems.push_back(version.error().message);
    return {};
  }
  check.version = *version;
  Examiner examiner(*database, check);
  examiner.look_at_structure();
  if (*version > static_cast<std::int64_t>(kSchemaVersion)) {
    if (check.problems.empty()) {
      check.refusal = newer_version(file.string(), *version);
    }
    return {};
  }
  const bool has_sums = *version >= static_cast<std::int64_t>(kVersionOfSums);
  examiner.look_at_content(has_sums ? depth : CheckDepth::Full);
  return {};
}

std::string restore_advice(const std::filesystem::path& state) {
  std::error_code ignored;
  const bool copy = std::filesystem::exists(backup_file(state), ignored);
  return fmt::format(
      "Restore the file{}; or run `carpool journal repair --state {}`, which saves what is left "
      "and "
      "gives no job number twice; or move {} and {} away to begin with an empty queue",
      copy ? fmt::format(" ({} is a copy, without what happened after it)",
                         backup_file(state).string())
           : "",
      state.string(),
      runs_folder(state).string(),
      marker_file(state).string());
}

}  // namespace

Result<JournalCheck> check_journal(const std::filesystem::path& state,
                                   CheckDepth depth,
                                   bool in_use) {
  JournalCheck check;
  // Before the journal, which a running server writes first.
  auto marker = read_marker(state);
  if (!marker && marker.error().code != ErrorCode::Corrupt) {
    return tl::unexpected(marker.error());
  }
  check.marker_damaged = !marker;
  check.marker = marker ? *marker : std::nullopt;
  check.highest_run = highest_run(state);
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(journal_file(state), missing);
  check.exists = !missing && bytes > 0;
  if (check.exists) {
    if (auto examined = examine_file(state, depth, in_use, check); !examined) {
      return tl::unexpected(examined.error());
    }
  }
  if (check.refusal || !check.problems.empty()) {
    if (check.refusal && check.refusal->message == "another") {
      check.refusal =
          Error{ErrorCode::Conflict,
                fmt::format(
                    "{} is the journal {}, but {} and the outputs in {} belong to the journal {}. "
                    "Put the right file back, or move journal-id and runs/ away",
                    journal_file(state).string(),
                    check.identity,
                    marker_file(state).string(),
                    runs_folder(state).string(),
                    check.marker->identity)};
    }
    return check;
  }
  const JobId known = std::max(check.last_job, check.marker ? check.marker->job : 0);
  const bool lacks_events = check.marker && check.marker->events > check.last_event;
  check.missing = check.highest_run > known || lacks_events;
  return check;
}

Error unusable(const std::filesystem::path& state, const JournalCheck& check) {
  if (check.refusal) {
    return *check.refusal;
  }
  const std::string file = journal_file(state).string();
  if (check.missing) {
    const std::string runs =
        check.highest_run > 0
            ? fmt::format("{} holds outputs of jobs up to number {}",
                          runs_folder(state).string(),
                          check.highest_run)
            : fmt::format(
                  "{} names jobs up to number {}", marker_file(state).string(), check.marker->job);
    return {
        ErrorCode::Conflict,
        fmt::format("{} {}, but {}{}. {}",
                    file,
                    !check.exists       ? "is missing or empty"
                    : check.events == 0 ? "holds no job"
                                        : fmt::format("holds jobs up to number {}", check.last_job),
                    runs,
                    check.marker ? fmt::format(" of the journal {}", check.marker->identity) : "",
                    restore_advice(state))};
  }
  return {
      ErrorCode::Corrupt,
      fmt::format("{} is damaged: {}. Nothing was changed. `carpool journal repair --state {}` "
                  "saves what is readable and lists what is lost; or restore a copy of the "
                  "file, or move it away with journal-id and runs/ to begin with an empty queue",
                  file,
                  fmt::join(check.problems, "; "),
                  state.string())};
}

}  // namespace carpool::store
