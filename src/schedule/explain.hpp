// Why a job waits, and what would start it now: the policy is asked about changed GPUs and jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/placement_policy.hpp"
#include "schedule/advice/latency_advice.hpp"
#include "schedule/advice/lesson.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::schedule {

// One GPU as a place for the job.
struct CandidateGpu {
  unsigned gpu = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::vector<JobId> residents{};
  bool takes_it = false;  // by the policy, if the job were the only one in the queue
  std::optional<ProgressForecast> forecast{};  // of the job, beside the residents
  std::optional<double> worst_neighbour{};     // predicted, of the slowest resident
  std::vector<GroupLatency> latencies{};       // of jobs with an SLO, beside each other
  std::string reason{};                        // why it takes the job, or does not
};

// A change that would let the job start.
struct StartingChange {
  enum class Kind { Order, LessMemory, NotExclusive, FewerGpus, Wait } kind = Kind::Order;
  std::string words{};  // "request 2 GiB less memory: 28 GiB instead of 30 GiB"
  std::optional<std::uint64_t> need_bytes{};  // LessMemory
  std::optional<unsigned> gpus{};             // FewerGpus
  std::optional<double> wait_s{};             // Wait, as far as run times are known
  std::optional<JobId> until_ends{};          // Wait
};

struct Explanation {
  JobId job = 0;
  std::string summary{};              // "Job 5 is waiting: …", one sentence
  std::optional<Deferral> binding{};  // what keeps it waiting; empty: it does not wait
  std::vector<CandidateGpu> candidates{};
  std::vector<StartingChange> changes{};  // the cheapest first; each is sufficient
  std::optional<JobStarted> placed{};     // where it runs or ran last, with the reason
  // What is believed of it and from what, in words; empty for a job that has ended.
  std::string activity{};
  std::string memory{};
  std::optional<WorkloadBelief> belief{};
  std::optional<ProgressForecast> progress{};  // of a job that computes, beside its group
  // Of a job with an SLO that has not ended: in words, and of its present group.
  std::string latency{};
  LatencyGoal goal{};
  std::optional<WatchedLatency> watched{};
  std::optional<Lesson> lesson{};  // empty: nothing is missing
};

// The jobs of a GPU that do not stand still.
[[nodiscard]] std::vector<InterferenceMember> computing_members(const GpuView& gpu);
// The first GPUs as places for a job that waits, or would.
[[nodiscard]] std::vector<CandidateGpu> candidate_gpus(const Scheduler& scheduler,
                                                       const QueuedJob& job);
[[nodiscard]] StartingChange wait_until_ends(JobId job, double in_s);
// By rising cost: priority, memory, sharing, GPUs, time.
[[nodiscard]] std::vector<StartingChange> starting_changes(const Scheduler& scheduler,
                                                           const QueuedJob& job);

// Does not change the scheduler. Calls the policy about once for each GPU and change.
[[nodiscard]] Result<Explanation> explain(const Scheduler& scheduler, JobId job);
// The same of a job that the scheduler may not know any more.
[[nodiscard]] Explanation explain(const Scheduler& scheduler, const JobRecord& record);

}  // namespace carpool::schedule
