#include "store/event_rows.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/digest.hpp"
#include "core/job_names.hpp"
#include "core/json/job_json.hpp"
#include "core/workload_identity.hpp"

namespace carpool::store {
namespace {

using nlohmann::json;

std::optional<std::int64_t> whole(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

}  // namespace

struct EventWriter::Statements {
  SqlStatement event{};
  SqlStatement find_environment{};
  SqlStatement environment{};
  SqlStatement submitted{};
  SqlStatement started{};
  SqlStatement ended{};
  SqlStatement closed{};

  // Checksums cover the columns of kSummedTables (schema.hpp), in their order.
  [[nodiscard]] Result<void> prepare(const SqlDatabase& database) {
    const std::pair<SqlStatement*, const char*> all[] = {
        {&event,
         "INSERT INTO events(sequence, job, body, environment, sum) "
         "VALUES(?1, ?2, ?3, ?4, row_sum('events', ?1, ?2, ?3, ?4))"},
        {&find_environment, "SELECT 1 FROM environments WHERE digest = ?"},
        {&environment,
         "INSERT INTO environments(digest, body, sum) "
         "VALUES(?1, ?2, row_sum('environments', ?1, ?2))"},
        {&submitted,
         "INSERT INTO jobs(id, uid, user, name, workload, submitted_s, sum) VALUES(?1, ?2, ?3, ?4, "
         "?5, ?6, row_sum('jobs', ?1, ?2, ?3, ?4, ?5, ?6, NULL, NULL, NULL, NULL, NULL))"},
        {&started,
         "UPDATE jobs SET started_s = ?1, progress = ?2, sum = row_sum('jobs', id, uid, user, "
         "name, workload, submitted_s, ?1, ?2, ended_s, end, reason) WHERE id = ?3"},
        // The end, as in JobRecord: not before the start, not after the event.
        {&ended,
         "INSERT INTO runs(job, attempt, workload, ended_s, end, run_s, progress, peak_bytes, sum) "
         "SELECT *, row_sum('runs', id, attempt, workload, at_s, end, run_s, progress, peak) FROM ("
         "SELECT id, ?1 AS attempt, workload, max(started_s, ?2) AS at_s, ?3 AS end,"
         "       max(max(started_s, ?2) - started_s - ?5, 0.0) AS run_s,"
         "       coalesce(?6, progress, 1.0) AS progress, ?4 AS peak FROM jobs WHERE id = ?7)"},
        {&closed,
         "UPDATE jobs SET ended_s = ?1, end = ?2, reason = ?3, sum = row_sum('jobs', id, uid, "
         "user, name, workload, submitted_s, started_s, progress, ?1, ?2, ?3) WHERE id = ?4"},
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

EventWriter::EventWriter() : statements_(std::make_unique<Statements>()) {}

EventWriter::~EventWriter() = default;

Result<std::unique_ptr<EventWriter>> EventWriter::prepare(const SqlDatabase& database) {
  std::unique_ptr<EventWriter> writer(new EventWriter());
  return writer->statements_->prepare(database).map([&] { return std::move(writer); });
}

void EventWriter::rolled_back() {
  last_digest_.clear();
}

Result<void> EventWriter::write(JobEvent& event) {
  return write_event(event).and_then([&] { return write_tables(event); });
}

Result<void> EventWriter::write_event(JobEvent& event) {
  Result<void> written;
  auto* submitted = std::get_if<JobSubmitted>(&event.what);
  if (submitted == nullptr || submitted->spec.env.empty()) {
    written = write_row(event, nullptr);
  } else {
    const auto digest = keep(submitted->spec.env);
    if (!digest) {
      return tl::unexpected(digest.error());
    }
    Environment environment = std::exchange(submitted->spec.env, {});
    written = write_row(event, &*digest);
    submitted->spec.env = std::move(environment);
  }
  return written;
}

Result<void> EventWriter::write_row(const JobEvent& event, const std::string* digest) {
  const std::string body = event_line(event);
  SqlStatement& row = statements_->event.bind(0, event.sequence).bind(1, event.job).bind(2, body);
  return (digest == nullptr ? row.bind_null(3) : row.bind(3, *digest)).run();
}

Result<std::string> EventWriter::keep(const Environment& environment) {
  if (!last_digest_.empty() && environment == last_) {
    return last_digest_;
  }
  const std::string body =
      json(environment.map()).dump(-1, ' ', false, json::error_handler_t::replace);
  std::string digest = environment_digest(body);
  auto known = statements_->find_environment.bind(0, digest).step();
  statements_->find_environment.reset();
  if (!known) {
    return tl::unexpected(known.error());
  }
  if (!*known) {
    if (auto kept = statements_->environment.bind(0, digest).bind(1, body).run(); !kept) {
      return tl::unexpected(kept.error());
    }
  }
  last_ = environment;
  last_digest_ = digest;
  return digest;
}

Result<void> EventWriter::write_tables(const JobEvent& event) {
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
        .bind(4, ended->paused_s)
        .bind(5, ended->progress)
        .bind(6, event.job)
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

EventReader::EventReader(const SqlDatabase& database, std::string file)
    : file_(std::move(file)),
      find_(database.prepare("SELECT body FROM environments WHERE digest = ?")) {}

Result<JobEvent> EventReader::read(const SqlStatement& row) {
  const std::int64_t sequence = row.integer(0);
  auto event = parse_event(row.text(1), fmt::format("{}: event {}", file_, sequence));
  if (event && !row.is_null(2)) {
    auto found = environment(row.text(2));
    auto* submitted = std::get_if<JobSubmitted>(&event->what);
    if (found && submitted != nullptr) {
      submitted->spec.env = std::move(*found);
    } else if (!found) {
      event = tl::unexpected(found.error());
    }
  }
  if (!event) {
    return fail(
        ErrorCode::Corrupt,
        fmt::format("{}. `carpool journal repair` saves what is readable", event.error().message));
  }
  event->sequence = sequence;
  return event;
}

Result<Environment> EventReader::environment(std::string_view digest) {
  if (!last_digest_.empty() && digest == last_digest_) {
    return last_;
  }
  if (!find_) {
    return tl::unexpected(find_.error());
  }
  const auto row = find_->bind(0, digest).step();
  if (!row) {
    return tl::unexpected(row.error());
  }
  const json object = *row ? json::parse(find_->text(0), nullptr, /*allow_exceptions=*/false)
                           : json(json::value_t::discarded);
  find_->reset();
  const auto is_text = [](const json& value) { return value.is_string(); };
  if (!object.is_object() || !std::ranges::all_of(object, is_text)) {
    return fail(ErrorCode::Corrupt,
                fmt::format("{}: environment {} is missing or damaged", file_, digest));
  }
  last_ = object.get<Environment::Map>();
  last_digest_ = digest;
  return last_;
}

std::string environment_digest(std::string_view body) {
  constexpr std::size_t kDigits = 32;  // 128 bits
  return sha256_hex(body).substr(0, kDigits);
}

}  // namespace carpool::store
