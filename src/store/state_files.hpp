// Names in a state folder.
//
//   jobs.sqlite, -wal, -shm    the journal
//   journal-id                 its identity and how far it was written (journal_marker.hpp)
//   jobs.sqlite.backup, .1     copies that the server makes (journal_backup.hpp)
//   jobs.sqlite.damaged-TIME   what a repair replaced (journal_repair.hpp)
//   simulated                  its jobs are only simulated (journal_kind.hpp)
//   server.lock                one server per folder (folder_lock.hpp)
//   runs/JOB.ATTEMPT/          outputs of jobs, written by run/
#pragma once

#include <filesystem>
#include <string_view>

#include "core/job.hpp"

namespace carpool::store {

inline constexpr std::string_view kJournalName = "jobs.sqlite";
inline constexpr std::string_view kMarkerName = "journal-id";
inline constexpr std::string_view kLockName = "server.lock";

[[nodiscard]] inline std::filesystem::path journal_file(const std::filesystem::path& state) {
  return state / kJournalName;
}
[[nodiscard]] inline std::filesystem::path marker_file(const std::filesystem::path& state) {
  return state / kMarkerName;
}
[[nodiscard]] inline std::filesystem::path simulated_file(const std::filesystem::path& state) {
  return state / "simulated";
}
[[nodiscard]] inline std::filesystem::path backup_file(const std::filesystem::path& state) {
  return state / "jobs.sqlite.backup";
}
[[nodiscard]] inline std::filesystem::path older_backup_file(const std::filesystem::path& state) {
  return state / "jobs.sqlite.backup.1";
}
[[nodiscard]] inline std::filesystem::path runs_folder(const std::filesystem::path& state) {
  return state / "runs";
}
[[nodiscard]] inline std::filesystem::path wal_of(std::filesystem::path file) {
  return file += "-wal";
}

// The highest job that has a folder in runs/; 0: none.
[[nodiscard]] JobId highest_run(const std::filesystem::path& state);

}  // namespace carpool::store
