// Queries of the journal.
#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/job_names.hpp"
#include "store/event_rows.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::store {
namespace {

constexpr std::int64_t kRunsRemembered = 100'000;
// Characters of a submission event. A submitted script may be a thousand times as long; reading
// many of those would block other callers.
constexpr std::int64_t kLargestSpec = 65'536;

template <class Number>
std::optional<Number> optional_number(const SqlStatement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(static_cast<Number>(row.real(column)));
}

Result<void> for_rows(Result<SqlStatement>& statement,
                      const std::function<Result<void>(const SqlStatement&)>& each) {
  return statement ? statement->for_rows(each) : tl::unexpected(statement.error());
}

}  // namespace

Result<void> SqliteJournal::replay(const std::function<void(const JobEvent&)>& each) const {
  // First the sequence numbers, which are small, then each event: in order, without holding all of
  // them in memory.
  auto wanted = database_.prepare(
      "SELECT sequence FROM events WHERE job IN ("
      "  SELECT id FROM jobs WHERE ended_s IS NULL UNION ALL "
      "  SELECT id FROM (SELECT id FROM jobs WHERE ended_s IS NOT NULL "
      "                  ORDER BY ended_s DESC, id DESC LIMIT ?))");
  if (wanted) {
    wanted->bind(0, static_cast<std::int64_t>(options_.replay_ended));
  }
  std::vector<std::int64_t> sequences;
  auto listed = for_rows(wanted, [&](const SqlStatement& row) -> Result<void> {
    sequences.push_back(row.integer(0));
    return {};
  });
  if (!listed) {
    return listed;
  }
  std::ranges::sort(sequences);
  EventReader reader(database_, file_.string());
  auto body =
      database_.prepare("SELECT sequence, body, environment FROM events WHERE sequence = ?");
  for (const std::int64_t sequence : sequences) {
    if (body) {
      body->bind(0, sequence);
    }
    auto read = for_rows(body, [&](const SqlStatement& row) -> Result<void> {
      return reader.read(row).map([&](const JobEvent& event) { each(event); });
    });
    if (!read) {
      return read;
    }
  }
  return {};
}

Result<JobId> SqliteJournal::last_job() const {
  return last_job_;
}

Result<double> SqliteJournal::last_event_s() const {
  auto query = database_.prepare(
      "SELECT json_extract(body, '$.at_s') FROM events WHERE json_valid(body) "
      "ORDER BY sequence DESC LIMIT 1");
  double at_s = 0.0;
  auto read = for_rows(query, [&](const SqlStatement& row) -> Result<void> {
    at_s = row.real(0);
    return {};
  });
  return read.map([&] { return at_s; });
}

Result<std::optional<RunEnd>> SqliteJournal::outcome(JobId job) const {
  auto query = database_.prepare("SELECT end FROM jobs WHERE id = ? AND ended_s IS NOT NULL");
  if (query) {
    query->bind(0, job);
  }
  std::optional<RunEnd> end;
  auto read = for_rows(query, [&](const SqlStatement& row) -> Result<void> {
    return run_end(row.text(0)).map([&](RunEnd found) { end = found; });
  });
  return read.map([&] { return end; });
}

Result<std::optional<JobHistory>> SqliteJournal::history() const {
  auto query = database_.prepare(
      "SELECT last.workload, last.end, run_s, last.progress, peak_bytes, uid FROM ("
      "  SELECT rowid AS number, * FROM runs ORDER BY rowid DESC LIMIT ?) AS last "
      "JOIN jobs ON jobs.id = last.job ORDER BY number");
  if (query) {
    query->bind(0, kRunsRemembered);
  }
  JobHistory history;
  auto read = for_rows(query, [&](const SqlStatement& row) -> Result<void> {
    return run_end(row.text(1)).map([&](RunEnd end) {
      history.learn(
          static_cast<std::uint32_t>(row.integer(5)),
          std::string(row.text(0)),
          {.end = end,
           .run_s = row.real(2),
           .progress = row.real(3),
           .peak_bytes = row.is_null(4)
                             ? std::nullopt
                             : std::optional(static_cast<std::uint64_t>(row.integer(4)))});
    });
  });
  return read.map([&] { return std::optional(std::move(history)); });
}

Result<std::vector<EndedJob>> SqliteJournal::ended_jobs(const EndedJobQuery& query) const {
  auto rows = database_.prepare(
      "SELECT id, uid, user, name, workload, submitted_s, started_s, ended_s, end, reason,"
      "  (SELECT max(peak_bytes) FROM runs WHERE job = id AND runs.end = ?4),"
      "  (SELECT max(peak_bytes) FROM runs WHERE job = id AND runs.end <> ?4) "
      "FROM jobs WHERE ended_s IS NOT NULL AND (?1 IS NULL OR uid = ?1) "
      "  AND (?2 IS NULL OR id < ?2) "
      "ORDER BY id DESC LIMIT ?3");
  if (rows) {
    rows->bind(0, query.uid ? std::optional<std::int64_t>(*query.uid) : std::nullopt)
        .bind(1, query.before)
        .bind(2, static_cast<std::int64_t>(query.most))
        .bind(3, name_of(RunEnd::Succeeded));
  }
  std::vector<EndedJob> jobs;
  auto read = for_rows(rows, [&](const SqlStatement& row) -> Result<void> {
    return run_end(row.text(8)).map([&](RunEnd end) {
      jobs.push_back({.id = row.integer(0),
                      .owner = {.uid = static_cast<std::uint32_t>(row.integer(1)),
                                .user = std::string(row.text(2))},
                      .name = std::string(row.text(3)),
                      .workload = std::string(row.text(4)),
                      .submitted_s = row.real(5),
                      .started_s = optional_number<double>(row, 6),
                      .ended_s = row.real(7),
                      .end = end,
                      .reason = std::string(row.text(9)),
                      .peak_bytes = optional_number<std::uint64_t>(row, 10),
                      .failed_peak_bytes = optional_number<std::uint64_t>(row, 11)});
    });
  });
  if (read && query.with_specs) {
    read = add_specs(jobs);
  }
  for (EndedJob& job : jobs) {
    if (read && query.with_attempts && job.started_s) {
      read = record_of(job.id).map([&](std::optional<JobRecord> record) {
        if (record && !record->attempts.empty()) {
          job.last_attempt = std::move(record->attempts.back());
        }
      });
    }
  }
  return read.map([&] { return std::move(jobs); });
}

Result<std::vector<EndedPlace>> SqliteJournal::ended_after(const EndedPlace& place,
                                                           std::size_t most) const {
  auto rows = database_.prepare(
      "SELECT ended_s, id FROM jobs WHERE ended_s IS NOT NULL AND (ended_s, id) > (?1, ?2) "
      "ORDER BY ended_s, id LIMIT ?3");
  if (rows) {
    rows->bind(0, place.ended_s).bind(1, place.id).bind(2, static_cast<std::int64_t>(most));
  }
  std::vector<EndedPlace> found;
  auto read = for_rows(rows, [&](const SqlStatement& row) -> Result<void> {
    found.push_back({.ended_s = row.real(0), .id = row.integer(1)});
    return {};
  });
  return read.map([&] { return std::move(found); });
}

Result<void> SqliteJournal::add_specs(std::vector<EndedJob>& jobs) const {
  auto first = database_.prepare(
      "SELECT * FROM (SELECT sequence, body, environment FROM events WHERE job = ?1 "
      "ORDER BY sequence LIMIT 1) WHERE length(body) <= ?2");
  EventReader reader(database_, file_.string());
  for (EndedJob& job : jobs) {
    if (first) {
      first->bind(0, job.id).bind(1, kLargestSpec);
    }
    auto read = for_rows(first, [&](const SqlStatement& row) -> Result<void> {
      return reader.read(row).map([&](JobEvent&& event) {
        if (auto* submitted = std::get_if<JobSubmitted>(&event.what)) {
          job.spec = std::move(submitted->spec);
        }
      });
    });
    if (!read) {
      return read;
    }
  }
  return {};
}

Result<std::vector<JobEvent>> SqliteJournal::events_of(JobId job) const {
  auto rows = database_.prepare(
      "SELECT sequence, body, environment FROM events WHERE job = ? ORDER BY "
      "sequence");
  EventReader reader(database_, file_.string());
  if (rows) {
    rows->bind(0, job);
  }
  std::vector<JobEvent> events;
  auto read = for_rows(rows, [&](const SqlStatement& row) -> Result<void> {
    return reader.read(row).map([&](JobEvent&& event) { events.push_back(std::move(event)); });
  });
  return read.map([&] { return std::move(events); });
}

Result<std::optional<JobRecord>> SqliteJournal::record_of(JobId job) const {
  const auto events = events_of(job);
  if (!events) {
    return tl::unexpected(events.error());
  }
  if (events->empty()) {
    return std::nullopt;
  }
  JobRecord record;
  for (const JobEvent& event : *events) {
    if (auto applied = apply(record, event); !applied) {
      return tl::unexpected(applied.error());
    }
  }
  return record;
}

}  // namespace carpool::store
