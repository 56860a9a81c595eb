// The processes of the job of one supervisor: its descendants and, where the attempt has a cgroup,
// all that is in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "gpu/mps/process_identity.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {

// For the process that is the supervisor.
class SupervisedProcesses {
 public:
  // `cgroup`: of the attempt; empty: none.
  explicit SupervisedProcesses(std::filesystem::path cgroup) : cgroup_(std::move(cgroup)) {}

  // Puts the first process of the job into the cgroup. A job without one still runs: its processes
  // are found as descendants.
  void enter_cgroup(const RunFolder& folder, pid_t leader);

  [[nodiscard]] std::vector<pid_t> numbers() const;
  // True also when the processes of this machine cannot be listed now.
  [[nodiscard]] bool any_left() const;
  void kill() const;
  // All stand still: by the freezer of the cgroup, which the job does not notice, else by SIGSTOP.
  // False: one still moves; call it again.
  [[nodiscard]] bool hold();
  // They go on, also where another process froze the cgroup. Processes that had stopped before
  // hold() stay so.
  void release();
  // Kills until none is left, reaps them, and removes the cgroup.
  void end();
  // Of this job, for lack of host memory; empty: the kernel does not count them by job.
  [[nodiscard]] std::optional<std::uint64_t> memory_kills() const { return memory_kills_; }

 private:
  std::filesystem::path cgroup_;
  [[nodiscard]] bool stop_one_by_one();

  bool in_cgroup_ = false;
  std::vector<gpu::ProcessIdentity> stopped_{};  // by SIGSTOP of this process
  std::optional<std::uint64_t> memory_kills_{};
};

}  // namespace carpool::run
