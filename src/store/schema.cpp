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

constexpr const char* kMigrationsTable =
    "CREATE TABLE IF NOT EXISTS migrations(version INTEGER PRIMARY KEY, applied TEXT NOT NULL);";

// Step i migrates a file from version i to i + 1. A released step is never changed: add another.
constexpr std::array<std::string_view, kSchemaVersion> kMigrations = {
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
    // An identity, checksums of rows, environments apart from events, and numbers of events that a
    // repair could not save.
    R"(CREATE TABLE journal(identity TEXT NOT NULL);
       CREATE TABLE environments(
         digest TEXT PRIMARY KEY,
         body TEXT NOT NULL,
         sum INTEGER NOT NULL);
       CREATE TABLE gaps(
         first INTEGER PRIMARY KEY,
         last INTEGER NOT NULL,
         sum INTEGER NOT NULL);
       ALTER TABLE events ADD COLUMN environment TEXT;
       ALTER TABLE events ADD COLUMN sum INTEGER;
       ALTER TABLE jobs ADD COLUMN sum INTEGER;
       ALTER TABLE runs ADD COLUMN sum INTEGER;)",
};

// Statements that follow step `version`; empty: none.
std::string after_step(std::size_t version, const std::string& identity) {
  if (version != kVersionOfSums) {
    return {};
  }
  std::string statements = fmt::format("INSERT INTO journal VALUES('{}');", identity);
  for (const SummedTable& table : kSummedTables) {
    statements +=
        fmt::format("UPDATE {0} SET sum = row_sum('{0}', {1});", table.name, table.columns);
  }
  return statements;
}

}  // namespace

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
        ErrorCode::Unsupported,
        fmt::format("{}: this is a database of another program; nothing was changed", file));
  }
  return {};
}

Result<std::int64_t> schema_version(const SqlDatabase& database) {
  auto known = database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'");
  if (!known || *known == 0) {
    return known;
  }
  return database.number("SELECT coalesce(max(version), 0) FROM migrations");
}

Result<std::string> schema_text(const SqlDatabase& database) {
  return database.text(
      "SELECT group_concat(line, char(10)) FROM (SELECT type || ' ' || name || ' ' || tbl_name || "
      "' ' || coalesce(sql, '') AS line FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' "
      "ORDER BY type, name)");
}

Result<std::string> expected_schema(std::int64_t version) {
  auto database = SqlDatabase::open(":memory:");
  if (!database) {
    return tl::unexpected(database.error());
  }
  auto made = database->execute(kMigrationsTable);
  for (std::size_t next = 0; made && next < static_cast<std::size_t>(version); ++next) {
    made = database->execute(std::string(kMigrations.at(next)));
  }
  if (!made) {
    return tl::unexpected(made.error());
  }
  return schema_text(*database);
}

Error newer_version(const std::string& file, std::int64_t version) {
  return {ErrorCode::Unsupported,
          fmt::format("{}: written by a newer Carpool (file version {}; this one supports {}). "
                      "Nothing was changed: use that Carpool, or another folder",
                      file,
                      version,
                      kMigrations.size())};
}

Result<void> migrate(SqlDatabase& database,
                     const std::string& file,
                     const std::string& identity,
                     std::size_t to_version) {
  if (auto ours = refuse_others(database, file); !ours) {
    return ours;
  }
  auto settled = database.execute(
      fmt::format("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; BEGIN IMMEDIATE;"
                  "PRAGMA application_id={}; {}",
                  kApplicationId,
                  kMigrationsTable));
  if (!settled) {
    return settled;
  }
  const auto version = database.number("SELECT coalesce(max(version), 0) FROM migrations");
  if (!version) {
    return tl::unexpected(version.error());
  }
  if (*version > static_cast<std::int64_t>(kMigrations.size())) {
    (void)database.execute("ROLLBACK");
    return tl::unexpected(newer_version(file, *version));
  }
  for (auto next = static_cast<std::size_t>(*version); next < to_version; ++next) {
    database.set_identity(identity);
    auto step = database.execute(fmt::format("{} {} INSERT INTO migrations VALUES({}, '{}');",
                                             kMigrations.at(next),
                                             after_step(next + 1, identity),
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
