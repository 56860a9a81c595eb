// Memory that was kept for a job, given back when its reservation shrank, and used by others: who
// grows into it again stands still before the GPU is full.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/cluster_snapshot.hpp"

namespace carpool::schedule {

struct LentMemoryRules {
  // Room that must be left: the largest of these.
  std::uint64_t guard_bytes = std::uint64_t{1} << 30U;
  double guard_share = 0.02;  // of the GPU
  double ahead_s = 3.0;       // at the speed at which its jobs grow
  // A job that stood still for this long goes back into the queue.
  double longest_pause_s = 300.0;
};

// For each GPU and observation: what has to be done about its jobs. At least one always computes.
class LentMemory {
 public:
  explicit LentMemory(const LentMemoryRules& rules) : rules_(rules) {}

  struct Order {
    enum class Kind { Pause, Resume, Requeue } kind = Kind::Pause;
    JobId job = 0;
    std::uint64_t reserve_bytes = 0;  // Resume: from now on; Requeue: of its next attempt
    std::string reason{};
  };
  // Jobs that took more than was kept for them, and how much that was.
  using Exceeded = std::unordered_map<JobId, std::uint64_t>;
  [[nodiscard]] std::vector<Order> observe(const GpuView& gpu,
                                           const Exceeded& exceeded,
                                           double now_s);

 private:
  struct Sample {
    double at_s = 0.0;
    std::uint64_t bytes = 0;
  };
  struct Growth {
    std::deque<Sample> samples{};    // of the last seconds
    std::uint64_t before_pause = 0;  // growth within them when it was paused

    [[nodiscard]] std::uint64_t bytes() const;
    [[nodiscard]] double steepest_per_s() const;
  };
  using Growths = std::unordered_map<JobId, Growth>;
  class Look;

  static void follow(Growths& growths, const GpuView& gpu, double now_s);

  LentMemoryRules rules_;
  std::unordered_map<unsigned, Growths> growths_;  // of the jobs on each GPU
};

}  // namespace carpool::schedule
