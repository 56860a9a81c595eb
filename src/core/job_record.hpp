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
  std::optional<double> progress{};  // believed mean share of its solo speed
  unsigned processes = 1;            // most at once on one GPU
  // Attributed to it on all its GPUs, once it has ended; empty: not known.
  std::optional<double> energy_joules{};
  std::optional<JobPaused> pause{};  // it stands still
  double pause_began_s = 0.0;
  double paused_s = 0.0;  // the pauses that are over
  unsigned pauses = 0;

  // Time for which it stood still, until now or its end.
  [[nodiscard]] double paused_until(double now_s) const;
  // Time on its GPUs without pauses, until now or its end.
  [[nodiscard]] double ran_s(double now_s) const;
};

struct JobRecord {
  JobId id = 0;
  JobSpec spec{};
  JobOwner owner{};
  JobState state = JobState::Queued;
  double submitted_s = 0.0;
  double queued_s = 0.0;  // when it entered the queue last
  std::optional<double> ended_s{};
  std::string reason{};  // why it ended or went back into the queue
  std::optional<RunEnd> end{};
  std::optional<std::uint64_t> reserve_bytes{};  // learned from failures
  bool exclusive = false;                        // requested, or learned
  unsigned out_of_memory = 0;                    // failures so far
  std::vector<JobAttempt> attempts{};
  bool stop_final = false;  // Stopping: it will be Cancelled, else Queued
  std::string stop_by{};    // who requested it; empty: not requested
  // With kByMemory: what its next attempt reserves, and why.
  std::optional<std::uint64_t> stop_reserve_bytes{};
  std::string stop_reason{};

  // The attempt that began and has not ended; null: none.
  [[nodiscard]] const JobAttempt* running() const;
  // The number of attempts that ended like this.
  [[nodiscard]] unsigned ends(RunEnd end) const;
  // The most processes at once on one GPU in earlier attempts, at least 1.
  [[nodiscard]] unsigned processes() const;
  // The processes that the cap of the last attempt is divided among.
  [[nodiscard]] unsigned cap_processes() const;
  // The first job of its array, also of that job itself; empty: it is in no array.
  [[nodiscard]] std::optional<JobId> array_job() const;
  // In the queue again after an end that was not the job's own failure.
  [[nodiscard]] bool recovering() const;

  // The code users know from Slurm: PD R S CG CD F OOM TO CA, and "H" for held.
  [[nodiscard]] std::string_view code() const;
  [[nodiscard]] bool over() const { return ended_s.has_value(); }
};

// JobStopAsked::by of a job that exceeded its time limit.
inline constexpr std::string_view kByTimeLimit = "time limit";

// JobStopAsked::by of a job that goes back into the queue for more memory. No user has this name.
inline constexpr std::string_view kByMemory = "lack of memory";

// Applies one event; an event that does not fit the job's state is a Corrupt error.
[[nodiscard]] Result<void> apply(JobRecord& job, const JobEvent& event);

}  // namespace carpool
