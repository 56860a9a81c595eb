#include "store/schema.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace carpool::store {
namespace {

// In the file header: identifies databases of Carpool.
constexpr std::int64_t kApplicationId = 0x43504c31;

// Step i migrates a file from version i to i + 1. A released step is never changed: add another.
constexpr std::array<std::string_view, 1> kMigrations = {
    R"(CREATE TABLE events(
         sequence INTEGER PRIMARY KEY,
         job INTEGER NOT NULL,
         body TEXT NOT NULL);
       CREATE INDEX events_by_job ON events(job, sequence);
       CREATE TABLE jobs(
         id INTEGER PRIMARY KEY,
         uid INTEGER NOT NULL,
         user TEXT NOT NULL,
         name TEXT NOT NULL,
         workload TEXT NOT NULL,
         submitted_s REAL NOT NULL,
         started_s REAL,
         progress REAL,
         ended_s REAL,
         end TEXT,
         reason TEXT);
       CREATE INDEX jobs_alive ON jobs(id) WHERE ended_s IS NULL;
       CREATE INDEX jobs_over ON jobs(ended_s, id) WHERE ended_s IS NOT NULL;
       CREATE TABLE runs(
         job INTEGER NOT NULL,
         attempt INTEGER NOT NULL,
         workload TEXT NOT NULL,
         ended_s REAL NOT NULL,
         end TEXT NOT NULL,
         run_s REAL NOT NULL,
         progress REAL NOT NULL,
         peak_bytes INTEGER,
         PRIMARY KEY(job, attempt));)",
};

Result<void> refuse_others(const SqlDatabase& database, const std::string& file) {
  const auto tables = database.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) {
    return tl::unexpected(tables.error());
  }
  const auto application = database.number("PRAGMA application_id");
  if (!application) {
    return tl::unexpected(application.error());
  }
  if (*tables > 0 && *application != kApplicationId) {
    return fail(
        ErrorCode::Corrupt,
        fmt::format("{}: this is a database of another program; nothing was changed", file));
  }
  return {};
}

}  // namespace

Result<void> migrate(SqlDatabase& database, const std::string& file) {
  if (auto ours = refuse_others(database, file); !ours) {
    return ours;
  }
  auto settled = database.execute(
      fmt::format("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; BEGIN IMMEDIATE;"
                  "PRAGMA application_id={}; CREATE TABLE IF NOT EXISTS migrations("
                  "version INTEGER PRIMARY KEY, applied TEXT NOT NULL);",
                  kApplicationId));
  if (!settled) {
    return settled;
  }
  const auto version = database.number("SELECT coalesce(max(version), 0) FROM migrations");
  if (!version) {
    return tl::unexpected(version.error());
  }
  if (*version > static_cast<std::int64_t>(kMigrations.size())) {
    (void)database.execute("ROLLBACK");
    return fail(
        ErrorCode::Unsupported,
        fmt::format("{}: written by a newer Carpool (file version {}; this one supports {}). "
                    "Nothing was changed: use that Carpool, or another folder",
                    file,
                    *version,
                    kMigrations.size()));
  }
  for (auto next = static_cast<std::size_t>(*version); next < kMigrations.size(); ++next) {
    auto step = database.execute(fmt::format("{} INSERT INTO migrations VALUES({}, '{}');",
                                             kMigrations.at(next),
                                             next + 1,
                                             utc_timestamp()));
    if (!step) {
      (void)database.execute("ROLLBACK");
      return step;
    }
  }
  return database.execute("COMMIT");
}

}  // namespace carpool::store
