// How an event is stored: its JSON without the environment, a reference to the environment, which
// the jobs of an array share, and a checksum; and the tables that answer without a replay.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/environment.hpp"
#include "core/job_event.hpp"
#include "store/sqlite.hpp"

namespace carpool::store {

class EventWriter {
 public:
  [[nodiscard]] static Result<std::unique_ptr<EventWriter>> prepare(const SqlDatabase& database);
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  ~EventWriter();

  // Event `event.sequence` with what follows from it, in the caller's transaction. Leaves the event
  // as it was.
  [[nodiscard]] Result<void> write(JobEvent& event);
  // Only the event.
  [[nodiscard]] Result<void> write_event(JobEvent& event);
  // Only what follows from it: rows of jobs and runs.
  [[nodiscard]] Result<void> write_tables(const JobEvent& event);
  // The caller's transaction was undone.
  void rolled_back();

 private:
  struct Statements;
  EventWriter();
  [[nodiscard]] Result<void> write_row(const JobEvent& event, const std::string* digest);
  [[nodiscard]] Result<std::string> keep(const Environment& environment);

  std::unique_ptr<Statements> statements_;
  // The last one: members of an array follow each other.
  Environment last_{};
  std::string last_digest_{};
};

class EventReader {
 public:
  // `file` is named in errors.
  EventReader(const SqlDatabase& database, std::string file);

  // A row of "SELECT sequence, body, environment FROM events".
  [[nodiscard]] Result<JobEvent> read(const SqlStatement& row);

 private:
  [[nodiscard]] Result<Environment> environment(std::string_view digest);

  std::string file_;
  Result<SqlStatement> find_;
  Environment last_{};
  std::string last_digest_{};
};

// Of the JSON of an environment; also its key in the table.
[[nodiscard]] std::string environment_digest(std::string_view body);

}  // namespace carpool::store
