#include "store/journal_content.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/job_record.hpp"
#include "store/event_rows.hpp"

namespace carpool::store {

Result<void> for_jobs(
    const SqlDatabase& database,
    bool has_environments,
    const std::function<Result<void>(std::vector<JobEvent>& events)>& each,
    const std::function<void(std::int64_t sequence, const Error& problem)>& unreadable) {
  auto rows = database.prepare(
      fmt::format("SELECT sequence, body, {}, job FROM events ORDER BY job, sequence",
                  has_environments ? "environment" : "NULL"));
  if (!rows) {
    return tl::unexpected(rows.error());
  }
  EventReader reader(database, "journal");
  std::vector<JobEvent> events;
  JobId job = 0;
  auto read = rows->for_rows([&](const SqlStatement& row) -> Result<void> {
    if (row.integer(3) != job && !events.empty()) {
      if (auto taken = each(events); !taken) {
        return taken;
      }
      events.clear();
    }
    job = row.integer(3);
    auto event = reader.read(row);
    if (event && event->job != job) {
      event = fail(ErrorCode::Corrupt,
                   fmt::format("event {} names job {} and is stored as one of job {}",
                               event->sequence,
                               event->job,
                               job));
    }
    if (event) {
      events.push_back(std::move(*event));
    } else {
      unreadable(row.integer(0), event.error());
    }
    return {};
  });
  if (read && !events.empty()) {
    read = each(events);
  }
  return read;
}

std::vector<std::string> misfits(const SqlDatabase& database, bool has_environments) {
  std::vector<std::string> found;
  auto same =
      database.prepare("SELECT count(*) FROM jobs WHERE id = ?1 AND (ended_s IS NOT NULL) = ?2");
  const auto check_job = [&](std::vector<JobEvent>& events) -> Result<void> {
    JobRecord record;
    for (const JobEvent& event : events) {
      if (auto fits = apply(record, event); !fits) {
        found.push_back(fits.error().message);
        return {};
      }
    }
    if (!same) {
      return tl::unexpected(same.error());
    }
    const auto row = same->bind(0, record.id).bind(1, std::int64_t{record.over()}).step();
    if (row && same->integer(0) == 0) {
      found.push_back(fmt::format("the row of job {} does not fit its events", record.id));
    }
    same->reset();
    return row.map([](bool /*row*/) {});
  };
  const auto read =
      for_jobs(database, has_environments, check_job, [&](std::int64_t, const Error& problem) {
        found.push_back(problem.message);
      });
  if (!read) {
    found.push_back(read.error().message);
  }
  return found;
}

}  // namespace carpool::store
