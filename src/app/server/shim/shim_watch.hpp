// What the processes of jobs have written to the state that they share: read with each look at the
// GPUs. Used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "app/server/shim/shim_place.hpp"
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

class ShimWatch {
 public:
  explicit ShimWatch(ShimPlace place) : place_(std::move(place)) {}

  void look(const std::vector<ShimTarget>& targets);

  // So far, of its processes that run, on all GPUs; a graph counts as one. Empty: it runs without
  // the library, or no process of it uses a GPU.
  [[nodiscard]] std::optional<std::uint64_t> launches(JobId job) const;

  // Jobs of which a GPU had more processes than clients of the state at several looks in a row.
  [[nodiscard]] std::vector<JobId> escaped(const std::vector<GpuObservation>& seen);

 private:
  struct Seen {
    std::uint64_t launches = 0;
    unsigned clients = 0;
  };

  ShimPlace place_;
  std::map<std::pair<JobId, unsigned>, Seen> seen_;  // by job and GPU; those that have an entry
  std::map<std::pair<JobId, unsigned>, unsigned> strange_;  // looks in a row
};

}  // namespace carpool::app
