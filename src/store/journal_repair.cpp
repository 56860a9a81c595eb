#include "store/journal_repair.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.hpp"
#include "store/journal_rebuild.hpp"
#include "store/private_files.hpp"
#include "store/schema.hpp"
#include "store/state_files.hpp"

namespace carpool::store {
namespace {

std::filesystem::path new_file(const std::filesystem::path& state) {
  return state / "jobs.sqlite.repair";
}

void remove_new_file(const std::filesystem::path& state) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::filesystem::remove(std::filesystem::path(new_file(state)) += suffix, ignored);
  }
}

// Backups first, then what earlier repairs replaced.
std::vector<std::filesystem::path> copies_in(const std::filesystem::path& state) {
  std::vector<std::filesystem::path> found = {backup_file(state), older_backup_file(state)};
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(state, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("jobs.sqlite.damaged-") && !name.ends_with("-wal")) {
      found.push_back(entry.path());
    }
  }
  return found;
}

// A name that is not in use: jobs.sqlite.damaged-20261116T083000Z
std::filesystem::path damaged_name(const std::filesystem::path& state) {
  std::string time = utc_timestamp();
  std::erase_if(time, [](char letter) { return letter == '-' || letter == ':'; });
  const std::filesystem::path name = state / fmt::format("jobs.sqlite.damaged-{}", time);
  std::filesystem::path unused = name;
  std::error_code ignored;
  for (int count = 2; std::filesystem::exists(unused, ignored); ++count) {
    unused = std::filesystem::path(name) += fmt::format(".{}", count);
  }
  return unused;
}

// A crash in between leaves the old file without its log; its rows are found under the new name.
Result<void> put_in_place(const std::filesystem::path& state, RepairReport& report) {
  const std::filesystem::path file = journal_file(state);
  const std::filesystem::path damaged = damaged_name(state);
  if (::link(file.c_str(), damaged.c_str()) == 0) {
    report.damaged_file = damaged;
  } else if (errno != ENOENT) {
    return fail(ErrorCode::Internal,
                fmt::format("link {} to {}: {}", file.string(), damaged.string(), last_error()));
  }
  const std::filesystem::path log = wal_of(file);
  std::error_code ignored;
  std::filesystem::remove(std::filesystem::path(file) += "-shm", ignored);
  if (std::filesystem::file_size(log, ignored) == 0) {
    std::filesystem::remove(log, ignored);
  }
  if (std::rename(log.c_str(), wal_of(damaged).c_str()) != 0 && errno != ENOENT) {
    return fail(ErrorCode::Internal, fmt::format("rename {}: {}", log.string(), last_error()));
  }
  sync_folder(state);
  if (std::rename(new_file(state).c_str(), file.c_str()) != 0) {
    return fail(ErrorCode::Internal, fmt::format("replace {}: {}", file.string(), last_error()));
  }
  sync_folder(state);
  report.replaced = true;
  return {};
}

// The rows of all files that are needed.
Result<void> take_rows(const std::filesystem::path& state,
                       const JournalCheck& check,
                       JournalRebuild& rebuild,
                       RepairReport& report) {
  const std::int64_t acknowledged = check.marker ? check.marker->events : 0;
  auto taken = rebuild.take(journal_file(state), /*with_sums=*/true);
  const std::int64_t own = rebuild.taken();
  for (const std::filesystem::path& copy : copies_in(state)) {
    const auto missing = taken ? rebuild.missing(std::max(acknowledged, rebuild.last_event()))
                               : tl::unexpected(taken.error());
    if (!missing) {
      return tl::unexpected(missing.error());
    }
    // Without a marker a copy may be ahead of what is left.
    if (!missing->empty() || rebuild.taken() == 0 || !check.marker) {
      taken = rebuild.take(copy, /*with_sums=*/true);
    }
  }
  report.from_copies = rebuild.taken() - own;
  const bool has_sums = rebuild.taken() > 0;
  if (taken && !has_sums) {
    taken = rebuild.take(journal_file(state), /*with_sums=*/false);
  }
  // Without a marker, or checksums, the end of the journal may be missing without a trace.
  report.complete = has_sums && check.marker.has_value();
  return taken;
}

Result<RepairReport> rebuild_journal(const std::filesystem::path& state,
                                     const JournalCheck& check,
                                     RepairMode mode) {
  RepairReport report;
  const std::string identity = check.marker              ? check.marker->identity
                               : !check.identity.empty() ? check.identity
                                                         : new_identity();
  auto rebuild = JournalRebuild::create(new_file(state), identity);
  if (!rebuild) {
    return tl::unexpected(rebuild.error());
  }
  if (auto taken = take_rows(state, check, *rebuild, report); !taken) {
    return tl::unexpected(taken.error());
  }
  const std::int64_t last_event =
      std::max(check.marker ? check.marker->events : 0, rebuild->last_event());
  const auto missing = rebuild->missing(last_event);
  if (!missing) {
    return tl::unexpected(missing.error());
  }
  report.complete = report.complete && missing->empty();
  const JobId given =
      std::max({check.marker ? check.marker->job : 0, check.last_job, check.highest_run});
  if (auto finished = rebuild->finish(last_event, given, report); !finished) {
    return tl::unexpected(finished.error());
  }
  if (mode == RepairMode::OnlyWithoutLoss && !report.complete) {
    return report;
  }
  if (auto placed = put_in_place(state, report); !placed) {
    return tl::unexpected(placed.error());
  }
  return MarkerFile::create(state,
                            {.identity = identity,
                             .events = last_event,
                             .job = report.complete ? given : beyond_block(given)})
      .map([&](const MarkerFile& /*marker*/) { return std::move(report); });
}

}  // namespace

Result<RepairReport> repair_journal(const std::filesystem::path& state,
                                    const JournalCheck& check,
                                    RepairMode mode) {
  remove_new_file(state);
  auto report = rebuild_journal(state, check, mode);
  remove_new_file(state);
  return report;
}

std::string ranges_text(const std::vector<NumberRange>& ranges) {
  std::vector<std::string> texts;
  texts.reserve(ranges.size());
  for (const NumberRange& range : ranges) {
    texts.push_back(range.first == range.last ? std::to_string(range.first)
                                              : fmt::format("{} to {}", range.first, range.last));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace carpool::store
