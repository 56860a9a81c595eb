// Whether a journal is the one of its folder, whole and undamaged. Changes nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/job.hpp"
#include "store/journal_marker.hpp"

namespace carpool::store {

struct JournalCheck {
  bool exists = false;       // and is not an empty file
  std::int64_t version = 0;  // of its tables
  std::string identity{};    // empty: none yet
  std::optional<JournalMarker> marker{};
  bool marker_damaged = false;
  std::int64_t events = 0;
  std::int64_t last_event = 0;  // events that a repair reported as lost included
  std::int64_t jobs = 0;
  JobId last_job = 0;
  JobId highest_run = 0;  // in runs/
  // What is damaged or missing, one line each.
  std::vector<std::string> problems{};
  // The journal is not the one of this folder, or not of this program: nothing to repair.
  std::optional<Error> refusal{};
  // It is missing, or older than runs/.
  bool missing = false;
};

enum class CheckDepth {
  Start,  // structure, indexes, checksums, completeness
  Full,   // also parses every event and applies it to its job
};

// `in_use`: another process may write to it, so its write-ahead log is left to SQLite.
[[nodiscard]] Result<JournalCheck> check_journal(const std::filesystem::path& state,
                                                 CheckDepth depth,
                                                 bool in_use = false);

// The error for a journal that cannot be used as it is: what happened and what to do.
[[nodiscard]] Error unusable(const std::filesystem::path& state, const JournalCheck& check);

}  // namespace carpool::store
