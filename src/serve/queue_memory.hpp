// Memory of the jobs that have not ended: the queue of one user must not fill that of the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "base/result.hpp"
#include "core/job.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::serve {

// Of one job, without its environment, which the jobs of an array share.
[[nodiscard]] std::size_t command_bytes(const JobSpec& spec);
[[nodiscard]] std::size_t environment_bytes(const JobSpec& spec);

// For one thread at a time.
class QueueMemory {
 public:
  explicit QueueMemory(std::size_t most_of_one = std::size_t{128} << 20U) : most_(most_of_one) {}

  // Counts the jobs of one submission; LimitReached where the user's jobs would hold too much.
  [[nodiscard]] Result<void> add(const schedule::Scheduler& scheduler,
                                 std::uint32_t uid,
                                 std::span<const JobSpec> jobs);
  // Whether add() would succeed.
  [[nodiscard]] Result<void> check(const schedule::Scheduler& scheduler,
                                   std::uint32_t uid,
                                   std::span<const JobSpec> jobs) const;

 private:
  struct Count {
    std::size_t held = 0;
    std::size_t submitted = 0;
  };
  [[nodiscard]] Count count(const schedule::Scheduler& scheduler,
                            std::uint32_t uid,
                            std::span<const JobSpec> jobs) const;
  [[nodiscard]] Result<void> check(const Count& count) const;

  std::size_t most_;
  // At least what the jobs of a user hold: those that end are noticed by counting again.
  std::map<std::uint32_t, std::size_t> held_;
};

}  // namespace carpool::serve
