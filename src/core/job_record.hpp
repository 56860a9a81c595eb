// All that is known of one job: what replaying its events gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/job.hpp"
#include "core/job_event.hpp"
#include "core/run.hpp"

namespace carpool {

enum class JobState { Queued, Held, Running, Stopping, Succeeded, Failed, Cancelled };

struct JobAttempt {
  JobStarted start{};
  double started_s = 0.0;
  std::optional<double> ended_s{};
  RunExit exit{};
  std::optional<std::uint64_t> peak_bytes{};
};

struct JobRecord {
  JobId id = 0;
  JobSpec spec{};
  JobOwner owner{};
  JobState state = JobState::Queued;
  double submitted_s = 0.0;
  double queued_s = 0.0;  // since when it waits
  std::optional<double> ended_s{};
  std::string reason{};  // why it ended or went back into the queue
  std::optional<RunEnd> end{};
  std::optional<std::uint64_t> reserve_bytes{};  // learned from failures
  bool exclusive = false;                        // asked for, or learned
  unsigned out_of_memory = 0;                    // ends so far
  std::vector<JobAttempt> attempts{};
  bool stop_final = false;  // Stopping: it will be Cancelled, else Queued
  std::string stop_by{};    // who asked; empty: nobody

  // The attempt that began and has not ended; null: none.
  [[nodiscard]] const JobAttempt* running() const;
  // Attempts that ended so.
  [[nodiscard]] unsigned ends(RunEnd end) const;
  // In the queue because something went wrong that it may recover from.
  [[nodiscard]] bool recovering() const;

  // The code users know from Slurm: PD R CG CD F OOM TO CA, and "H" for held.
  [[nodiscard]] std::string_view code() const;
  [[nodiscard]] bool over() const { return ended_s.has_value(); }
};

// What JobStopAsked::by says of one that ran past its time limit.
inline constexpr std::string_view kByTimeLimit = "time limit";

// Applies one event; an event that does not fit the job's state is a Corrupt journal.
[[nodiscard]] Result<void> apply(JobRecord& job, const JobEvent& event);

}  // namespace carpool
