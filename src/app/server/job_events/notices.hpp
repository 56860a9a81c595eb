// What is told when jobs have ended (`--notify`): by commands, and by posts to addresses. A folder
// for each job that has one is made at its submission and removed when the command has run, so the
// next server knows what is due.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <sys/types.h>
#include <vector>

#include "base/result.hpp"
#include "core/job_event.hpp"
#include "core/job_record.hpp"

namespace carpool::app {

class Notices {
 public:
  // Starts the command of an ended job.
  using Start =
      std::function<Result<pid_t>(const JobRecord& job, const std::filesystem::path& folder)>;
  using Find = std::function<std::optional<JobRecord>(JobId)>;

  // `start` empty: none are run.
  Notices(std::filesystem::path folder, Start start)
      : folder_(std::move(folder)), start_(std::move(start)) {}

  // For every durable event; `job` is null where it is not known any more.
  void on_event(const JobEvent& event, const JobRecord* job);
  // When the jobs of the previous server are known: what it did not start.
  void catch_up(const std::vector<JobId>& jobs, const Find& find);
  // Writes to the log which failed, and why. On any thread, about once a second.
  void log_failures() const;

 private:
  [[nodiscard]] std::filesystem::path folder_of(JobId job) const;
  void expect(JobId job) const;
  void begin(const JobRecord& job);
  void reap();

  std::filesystem::path folder_;
  Start start_;
  std::vector<pid_t> starters_;
};

}  // namespace carpool::app
