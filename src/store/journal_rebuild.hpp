// The new file of a repair, while it is filled.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "store/event_rows.hpp"
#include "store/journal_repair.hpp"
#include "store/sqlite.hpp"

namespace carpool::store {

class JournalRebuild {
 public:
  // An empty journal in a new file.
  [[nodiscard]] static Result<JournalRebuild> create(const std::filesystem::path& file,
                                                     const std::string& identity);

  // Takes rows that are not there yet.
  [[nodiscard]] Result<void> take(const std::filesystem::path& source, bool with_sums);
  [[nodiscard]] std::int64_t taken() const { return taken_; }
  // Numbers up to `last` that no event has and that were not reported as lost before.
  [[nodiscard]] Result<std::vector<NumberRange>> missing(std::int64_t last) const;
  // Removes events that do not fit, fills the tables, and makes the file durable.
  [[nodiscard]] Result<void> finish(std::int64_t last_event, JobId last_job, RepairReport& report);

  [[nodiscard]] std::int64_t last_event() const { return last_event_; }

 private:
  [[nodiscard]] Result<std::vector<NumberRange>> absent(std::int64_t last) const;
  [[nodiscard]] Result<void> drop_misfits(RepairReport& report);
  [[nodiscard]] Result<bool> fit(std::vector<JobEvent>& events, std::vector<std::int64_t>& dropped);
  [[nodiscard]] Result<void> fill_tables();
  [[nodiscard]] Result<void> count(JobId last_job, RepairReport& report) const;

  std::filesystem::path file_;
  std::string identity_;
  SqlDatabase database_;
  std::unique_ptr<EventWriter> writer_;
  std::vector<NumberRange> known_gaps_;
  std::int64_t taken_ = 0;
  std::int64_t last_event_ = 0;  // of events and known gaps
};

}  // namespace carpool::store
