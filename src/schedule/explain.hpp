// Why a job waits, and what would start it now: the policy asked about other moments than this one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/placement_policy.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::schedule {

// One GPU as the job would find it.
struct CandidateGpu {
  unsigned gpu = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::vector<JobId> residents{};
  bool takes_it = false;                 // by the policy, if the job were the only one in the queue
  std::optional<double> job_progress{};  // predicted, of its speed alone, beside those
  std::optional<double> worst_neighbour{};  // the same of who would suffer most
  std::string reason{};                     // why not, or why
};

// Something that would make it start now.
struct StartingChange {
  enum class Kind { Order, LessMemory, NotExclusive, FewerGpus, Wait } kind = Kind::Order;
  std::string words{};                        // "ask for 2 GiB less: 28 GiB instead of 30 GiB"
  std::optional<std::uint64_t> need_bytes{};  // LessMemory
  std::optional<unsigned> gpus{};             // FewerGpus
  std::optional<double> wait_s{};             // Wait, as far as run times are known
  std::optional<JobId> until_ends{};          // Wait
};

struct Explanation {
  JobId job = 0;
  std::string summary{};              // one sentence
  std::optional<Deferral> binding{};  // what keeps it waiting; empty: it does not wait
  std::vector<CandidateGpu> candidates{};
  std::vector<StartingChange> changes{};  // the cheapest first; each alone is enough
  std::optional<JobStarted> placed{};     // where it runs or ran last, with the reason
};

// Changes nothing. Needs about one call of the policy for each GPU and change.
[[nodiscard]] Result<Explanation> explain(const Scheduler& scheduler, JobId job);

}  // namespace carpool::schedule
