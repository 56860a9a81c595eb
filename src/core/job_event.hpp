// What happens to a job. The scheduler's state is the result of replaying the events. An event is
// in the journal before callers hear of it and before anything is done about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/job.hpp"
#include "core/run.hpp"

namespace carpool {

struct JobSubmitted {
  JobSpec spec{};
  JobOwner owner{};
};
struct JobHeld {};
struct JobReleased {};
// Its owner or an operator changed what it requests; empty: as before. Of a running job only the
// time limit changes.
struct JobUpdated {
  std::string by{};
  std::optional<double> time_s{};
  std::optional<std::uint64_t> mem_bytes{};
  std::optional<int> priority{};
  std::optional<JobClass> job_class{};
  std::optional<double> begin_s{};
};
// Decided: the attempt may begin at any moment.
struct JobStarted {
  unsigned attempt = 0;
  std::vector<unsigned> gpus{};
  ShareMechanism mechanism = ShareMechanism::None;
  double thread_limit = kAllThreads;
  std::uint64_t reserved_bytes = 0;          // on each of its GPUs
  std::optional<std::uint64_t> cap_bytes{};  // enforced; empty: none
  unsigned processes = 1;                    // that the cap is divided among
  std::optional<double> predicted_progress{};
  std::string reason{};  // why there, for `explain`
};
// All its processes stand still; its memory stays.
struct JobPaused {
  PauseCause cause = PauseCause::Turn;
  std::string reason{};
};
struct JobResumed {
  std::string reason{};
};
struct JobStopAsked {
  std::string by{};   // user, "time limit", …
  bool final = true;  // the job is cancelled; else it goes back into the queue
  // It goes back because it needs more memory than was kept for it: what to keep next time, and
  // why.
  std::optional<std::uint64_t> reserve_bytes{};
  std::string reason{};
};
struct JobEnded {
  unsigned attempt = 0;
  RunExit exit{};
  std::optional<std::uint64_t> peak_bytes{};  // on one GPU, measured
  std::optional<double> progress{};           // believed mean share of its solo speed
  unsigned processes = 1;                     // most at once on one GPU
  double paused_s = 0.0;                      // of the time since its start
  std::optional<double> energy_joules{};      // attributed to it on all its GPUs
};
// Back into the queue: after out-of-memory, a fault of others, `requeue`, a retry.
struct JobRequeued {
  std::string reason{};
  std::optional<std::uint64_t> reserve_bytes{};  // at least this much for all further attempts
  bool exclusive = false;                        // for all further attempts
};
// The job will not run again. Follows JobEnded, or stands alone for a job that never ran.
struct JobClosed {
  RunEnd end = RunEnd::Succeeded;
  std::string reason{};
};

struct JobEvent {
  std::int64_t sequence = 0;  // given by the journal, from 1
  JobId job = 0;
  double at_s = 0.0;
  std::variant<JobSubmitted,
               JobHeld,
               JobReleased,
               JobUpdated,
               JobStarted,
               JobPaused,
               JobResumed,
               JobStopAsked,
               JobEnded,
               JobRequeued,
               JobClosed>
      what{};
};

}  // namespace carpool
