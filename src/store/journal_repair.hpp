// Writes a damaged journal anew from the rows that can be read: of the file, its write-ahead log,
// and where those are not enough, of backups and of files that earlier repairs replaced. Events are
// never changed and their numbers never used again, so rows of all these files fit together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/job.hpp"
#include "store/journal_check.hpp"

namespace carpool::store {

// Both ends included.
struct NumberRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct RepairReport {
  bool complete = false;  // nothing that was acknowledged is lost
  bool replaced = false;  // the new file is in place
  std::int64_t events = 0;
  std::int64_t jobs = 0;
  std::int64_t from_copies = 0;  // events that only backups and replaced files had
  std::vector<NumberRange> lost_events{};
  std::vector<NumberRange> lost_jobs{};  // numbers without a submission
  std::vector<JobId> incomplete_jobs{};  // some of their events are lost
  std::filesystem::path damaged_file{};  // where the old file is now; empty: there was none
};

enum class RepairMode { OnlyWithoutLoss, SaveWhatIsLeft };

// The caller holds the lock of the folder, and no connection is open. Not for a journal that
// check_journal() refuses.
[[nodiscard]] Result<RepairReport> repair_journal(const std::filesystem::path& state,
                                                  const JournalCheck& check,
                                                  RepairMode mode);

// "3, 5 to 9"
[[nodiscard]] std::string ranges_text(const std::vector<NumberRange>& ranges);

}  // namespace carpool::store
