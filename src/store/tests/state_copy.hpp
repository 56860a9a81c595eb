// State folders for the tests of damaged, exchanged and missing journals.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/tests/temporary_folder.hpp"
#include "core/json/job_json.hpp"
#include "core/tests/job_events.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::store {

class StateFolder : public TemporaryFolder {
 public:
  // As the folder is now, also while its journal is open: as after kill -9.
  void copy_from(const std::filesystem::path& other) const {
    std::filesystem::remove_all(path());
    std::filesystem::copy(other, path(), std::filesystem::copy_options::recursive);
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
    std::filesystem::remove(path() / "jobs.sqlite-shm");
  }
};

[[nodiscard]] inline std::unique_ptr<SqliteJournal> opened(const std::filesystem::path& folder) {
  auto journal = SqliteJournal::open(folder, {});
  EXPECT_TRUE(journal) << journal.error().message;
  return journal ? std::move(*journal) : nullptr;
}

[[nodiscard]] inline std::string refusal_of(const std::filesystem::path& folder) {
  const auto journal = SqliteJournal::open(folder, {});
  return journal ? std::string() : journal.error().message;
}

// All that a journal says: an event or a row each, by a name.
[[nodiscard]] inline Result<std::map<std::string, std::string>> content_of_journal(
    const SqliteJournal& journal, JobId last_job) {
  std::map<std::string, std::string> content;
  for (JobId job = 1; job <= last_job; ++job) {
    const auto events = journal.events_of(job);
    if (!events) {
      return tl::unexpected(events.error());
    }
    for (const JobEvent& event : *events) {
      content["event " + std::to_string(event.sequence)] = event_line(event);
    }
  }
  const auto replayed = replayed_events(journal);
  if (!replayed) {
    return tl::unexpected(replayed.error());
  }
  for (const JobEvent& event : *replayed) {
    content["replayed " + std::to_string(event.sequence)] = event_line(event);
  }
  const auto ended = journal.ended_jobs({.most = 1'000'000});
  if (!ended) {
    return tl::unexpected(ended.error());
  }
  for (const EndedJob& job : *ended) {
    content["ended " + std::to_string(job.id)] = job.name + " " + job.workload + " " +
                                                 std::to_string(job.ended_s) + " " + job.reason +
                                                 " " + std::to_string(job.peak_bytes.value_or(0));
  }
  return content;
}

}  // namespace carpool::store
