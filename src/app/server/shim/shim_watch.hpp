// What the processes of jobs have written to the state that they share: read with each look at the
// GPUs. Tells the state what the driver knows of memory that the processes do not see. Used by one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "app/server/shim/gate_tally.hpp"
#include "app/server/shim/shim_place.hpp"
#include "interpose/state/memory_accounts.hpp"
#include "observe/process_owners.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::app {

// A job on one GPU.
struct ShimTarget {
  JobId job = 0;
  uid_t uid = 0;
  unsigned gpu = 0;
  std::string uuid{};
};

// On the thread of the scheduler.
[[nodiscard]] std::vector<ShimTarget> shim_targets(const schedule::Scheduler& scheduler);

// A job with processes that run without the library.
struct ShimEscape {
  JobId job = 0;
  std::string how{};  // in words
};

class ShimWatch {
 public:
  explicit ShimWatch(ShimPlace place) : place_(std::move(place)) {}

  // Before the GPUs are read.
  void look(const std::vector<ShimTarget>& targets);
  // As soon as they have been read: contexts and foreign memory are written to the states.
  void account(const observe::SeenProcesses& processes);

  // So far, of its processes that run, on all GPUs; a graph counts as one. Empty: it runs without
  // the library, or no process of it uses a GPU.
  [[nodiscard]] std::optional<std::uint64_t> launches(JobId job) const;

  // Of the jobs of the last look that promise something or give way to others.
  [[nodiscard]] std::vector<serve::JobGate> gates() const;

  // Adds the latency of requests to what was seen of jobs.
  void measure(std::vector<GpuObservation>& seen) const;

  // Jobs of which a GPU had more processes than clients of the state at several looks in a row.
  [[nodiscard]] std::vector<ShimEscape> escaped(const std::vector<GpuObservation>& seen);

 private:
  struct Seen {
    std::uint64_t launches = 0;
    unsigned clients = 0;
  };

  // Processes of a job on a GPU that are not clients of the state.
  struct Slotless {
    std::vector<std::string> told{};  // those that hold memory, in words
    unsigned empty = 0;               // those that hold none
  };

  // The state of a user on a GPU.
  struct Shared {
    unsigned gpu = 0;
    interpose::StateReport report{};  // of the last look
    interpose::MemoryAccountant accountant{};
  };

  void remember_slotless(unsigned gpu,
                         const interpose::MemoryAccounts& accounts,
                         const std::vector<observe::SeenProcess>& processes);

  ShimPlace place_;
  std::map<std::pair<uid_t, std::string>, Shared> shared_;   // by user and UUID of the GPU
  std::map<std::pair<JobId, unsigned>, Slotless> slotless_;  // by job and GPU
  std::map<std::pair<JobId, unsigned>, Seen> seen_;  // by job and GPU; those that have an entry
  std::map<std::pair<JobId, unsigned>, unsigned> strange_;  // looks in a row
  std::map<JobId, GateTally> tallies_;
};

}  // namespace carpool::app
