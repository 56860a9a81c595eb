// A process beside `carpool run` that cancels its job if `carpool run` is killed and cannot do it
// itself. It ends with `carpool run`.
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <utility>

#include "app/cli/shared_options.hpp"
#include "base/process/descriptor.hpp"
#include "base/result.hpp"

namespace carpool::app {

class JobKeeper {
 public:
  // Forks. Create it before other threads start.
  [[nodiscard]] static Result<JobKeeper> start(const ServerOptions& server);
  JobKeeper(JobKeeper&&) noexcept = default;
  JobKeeper& operator=(JobKeeper&&) = delete;
  ~JobKeeper();

  void keep(std::int64_t job) const;
  // The job has ended, or goes on by itself.
  void release() const;

 private:
  JobKeeper(pid_t pid, Descriptor orders) : pid_(pid), orders_(std::move(orders)) {}

  pid_t pid_ = -1;
  Descriptor orders_;
};

}  // namespace carpool::app
