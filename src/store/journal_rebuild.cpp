#include "store/journal_rebuild.hpp"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/job_record.hpp"
#include "core/json/job_json.hpp"
#include "store/journal_content.hpp"
#include "store/page_images.hpp"
#include "store/private_files.hpp"
#include "store/row_scan.hpp"
#include "store/schema.hpp"

namespace carpool::store {
namespace {

bool covers(const std::vector<NumberRange>& ranges, std::int64_t number) {
  return std::ranges::any_of(ranges, [&](const NumberRange& range) {
    return range.first <= number && number <= range.last;
  });
}

void add_number(std::vector<NumberRange>& ranges, std::int64_t number) {
  if (!ranges.empty() && ranges.back().last + 1 == number) {
    ranges.back().last = number;
  } else {
    ranges.push_back({number, number});
  }
}

// Numbers from 1 to `last` that a query of ascending numbers leaves out.
Result<std::vector<NumberRange>> left_out(const SqlDatabase& database,
                                          std::string_view query,
                                          std::int64_t last) {
  std::vector<NumberRange> ranges;
  std::int64_t next = 1;
  auto rows = database.prepare(query);
  if (!rows) {
    return tl::unexpected(rows.error());
  }
  const auto until = [&](std::int64_t number) {
    if (next < number) {
      ranges.push_back({next, number - 1});
    }
    next = number + 1;
  };
  auto read = rows->for_rows([&](const SqlStatement& row) -> Result<void> {
    until(row.integer(0));
    return {};
  });
  until(last + 1);
  return read.map([&] { return std::move(ranges); });
}

}  // namespace

Result<JournalRebuild> JournalRebuild::create(const std::filesystem::path& file,
                                              const std::string& identity) {
  JournalRebuild rebuild;
  rebuild.file_ = file;
  rebuild.identity_ = identity;
  if (auto made = open_private(file); !made) {
    return tl::unexpected(made.error());
  }
  auto database = SqlDatabase::open(file);
  if (!database) {
    return tl::unexpected(database.error());
  }
  rebuild.database_ = std::move(*database);
  auto ready = migrate(rebuild.database_, file.string(), identity);
  if (ready) {
    ready = rebuild.database_.execute("BEGIN IMMEDIATE");
  }
  if (!ready) {
    return tl::unexpected(ready.error());
  }
  auto writer = EventWriter::prepare(rebuild.database_);
  if (!writer) {
    return tl::unexpected(writer.error());
  }
  rebuild.writer_ = std::move(*writer);
  return rebuild;
}

Result<void> JournalRebuild::take(const std::filesystem::path& source, bool with_sums) {
  const auto images = PageImages::read(source);
  auto event_row = database_.prepare(
      "INSERT OR IGNORE INTO events(sequence, job, body, environment, sum) "
      "VALUES(?1, ?2, ?3, ?4, row_sum('events', ?1, ?2, ?3, ?4))");
  auto environment_row = database_.prepare(
      "INSERT OR IGNORE INTO environments(digest, body, sum) "
      "VALUES(?1, ?2, row_sum('environments', ?1, ?2))");
  if (!images || !event_row || !environment_row) {
    return tl::unexpected(!images      ? images.error()
                          : !event_row ? event_row.error()
                                       : environment_row.error());
  }
  Result<void> stored;
  const auto take_event = [&](const FoundEvent& event) {
    if (stored) {
      stored = event_row->bind(0, event.sequence)
                   .bind(1, event.job)
                   .bind(2, event.body)
                   .bind(3, event.environment)
                   .run();
      last_event_ = std::max(last_event_, event.sequence);
    }
  };
  FoundRows rows{.event = take_event,
                 .event_without_sum = [](const FoundEvent& /*event*/) {},
                 .environment =
                     [&](const FoundEnvironment& found) {
                       if (stored) {
                         stored = environment_row->bind(0, found.digest).bind(1, found.body).run();
                       }
                     },
                 .gap =
                     [&](const FoundGap& gap) {
                       known_gaps_.push_back({gap.first, gap.last});
                       last_event_ = std::max(last_event_, gap.last);
                     }};
  if (!with_sums) {
    rows.event = [](const FoundEvent& /*event*/) {};
    rows.event_without_sum = [&](const FoundEvent& event) {
      const auto parsed = parse_event(event.body, "event");
      if (parsed && parsed->job == event.job) {
        take_event(event);
      }
    };
  }
  scan_rows(*images, identity_, rows);
  if (!stored) {
    return stored;
  }
  return database_.number("SELECT count(*) FROM events").map([&](std::int64_t count) {
    taken_ = count;
  });
}

Result<std::vector<NumberRange>> JournalRebuild::absent(std::int64_t last) const {
  return left_out(database_, "SELECT sequence FROM events ORDER BY sequence", last);
}

Result<std::vector<NumberRange>> JournalRebuild::missing(std::int64_t last) const {
  return absent(last).map([&](const std::vector<NumberRange>& ranges) {
    std::vector<NumberRange> unknown;
    for (const NumberRange& range : ranges) {
      for (std::int64_t number = range.first; number <= range.last; ++number) {
        if (!covers(known_gaps_, number)) {
          add_number(unknown, number);
        }
      }
    }
    return unknown;
  });
}

// Applies the events of one job. False: some are lost or do not fit. A job that was closed stays
// closed where the event of its end is lost.
Result<bool> JournalRebuild::fit(std::vector<JobEvent>& events,
                                 std::vector<std::int64_t>& dropped) {
  JobRecord record;
  bool whole = true;
  std::int64_t before = 0;
  for (JobEvent& event : events) {
    Result<void> fits = apply(record, event);
    const auto* closed = std::get_if<JobClosed>(&event.what);
    const std::int64_t free = event.sequence - 1;
    if (!fits && closed != nullptr && record.running() != nullptr && free > before) {
      const auto used =
          database_.number(fmt::format("SELECT count(*) FROM events WHERE sequence = {}", free));
      JobEvent ended{.sequence = free,
                     .job = event.job,
                     .at_s = event.at_s,
                     .what = JobEnded{.attempt = record.running()->start.attempt,
                                      .exit = {.end = closed->end,
                                               .detail = "the record of this end was lost"}}};
      if (used && *used == 0 && apply(record, ended)) {
        if (auto written = writer_->write_event(ended); !written) {
          return tl::unexpected(written.error());
        }
        fits = apply(record, event);
      }
      whole = false;
    }
    if (!fits) {
      whole = false;
      dropped.push_back(event.sequence);
    }
    before = event.sequence;
  }
  return whole;
}

Result<void> JournalRebuild::drop_misfits(RepairReport& report) {
  std::vector<std::int64_t> dropped;
  std::vector<std::vector<JobEvent>> suspects;
  auto read = for_jobs(
      database_,
      /*has_environments=*/true,
      [&](std::vector<JobEvent>& events) -> Result<void> {
        JobRecord record;
        const bool fits = std::ranges::all_of(
            events, [&](const JobEvent& event) { return apply(record, event).has_value(); });
        if (!fits) {
          suspects.push_back(std::move(events));
          events.clear();
        }
        return {};
      },
      [&](std::int64_t sequence, const Error& /*problem*/) { dropped.push_back(sequence); });
  for (auto job = suspects.begin(); read && job != suspects.end(); ++job) {
    read = fit(*job, dropped).map([&](bool whole) {
      if (!whole && std::holds_alternative<JobSubmitted>(job->front().what)) {
        report.incomplete_jobs.push_back(job->front().job);
      }
    });
  }
  for (auto sequence = dropped.begin(); read && sequence != dropped.end(); ++sequence) {
    read = database_.execute(fmt::format("DELETE FROM events WHERE sequence = {}", *sequence));
  }
  report.complete = report.complete && dropped.empty() && report.incomplete_jobs.empty();
  return read;
}

Result<void> JournalRebuild::fill_tables() {
  auto rows = database_.prepare("SELECT sequence, body, environment FROM events ORDER BY sequence");
  if (!rows) {
    return tl::unexpected(rows.error());
  }
  EventReader reader(database_, file_.string());
  return rows->for_rows([&](const SqlStatement& row) {
    return reader.read(row).and_then(
        [&](const JobEvent& event) { return writer_->write_tables(event); });
  });
}

Result<void> JournalRebuild::count(JobId last_job, RepairReport& report) const {
  const auto events = database_.number("SELECT count(*) FROM events");
  const auto jobs = database_.number("SELECT count(*) FROM jobs");
  auto lost = left_out(database_, "SELECT id FROM jobs ORDER BY id", last_job);
  if (!events || !jobs || !lost) {
    return tl::unexpected(!events ? events.error() : !jobs ? jobs.error() : lost.error());
  }
  report.events = *events;
  report.jobs = *jobs;
  if (!report.complete) {
    report.lost_jobs = std::move(*lost);
  }
  return {};
}

Result<void> JournalRebuild::finish(std::int64_t last_event, JobId last_job, RepairReport& report) {
  Result<void> done = drop_misfits(report);
  if (done) {
    done = missing(last_event).map([&](std::vector<NumberRange>&& lost) {
      report.lost_events = std::move(lost);
    });
  }
  const auto gaps = done ? absent(last_event) : std::vector<NumberRange>{};
  for (std::size_t i = 0; done && gaps && i < gaps->size(); ++i) {
    done = database_.execute(
        fmt::format("INSERT INTO gaps VALUES({0}, {1}, row_sum('gaps', {0}, {1}))",
                    (*gaps)[i].first,
                    (*gaps)[i].last));
  }
  if (done) {
    done = fill_tables();
  }
  if (done) {
    done = count(last_job, report);
  }
  if (done) {
    done = database_.execute("COMMIT; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
  }
  writer_.reset();
  database_ = SqlDatabase();
  const Descriptor written(::open(file_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (done && (!written.valid() || ::fsync(written.get()) != 0)) {
    return fail(ErrorCode::Unavailable,
                fmt::format("{}: cannot be written: {}", file_.string(), last_error()));
  }
  return done;
}

}  // namespace carpool::store
