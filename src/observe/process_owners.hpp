// Which job a process on a GPU belongs to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <sys/types.h>
#include <vector>

#include "core/gpu.hpp"
#include "core/job.hpp"

namespace carpool::observe {

struct ProcessOwner {
  enum class Kind {
    Job,
    MpsServer,  // belongs to no job, and is not foreign
    Foreign,
    Unknown,  // not in the process table: a PID namespace hides it
  } kind = Kind::Foreign;
  JobId job = 0;
};

// A process on a GPU.
struct SeenProcess {
  GpuProcess process{};
  ProcessOwner owner{};
};
// By the place of the GPU; absent: it could not be read.
using SeenProcesses = std::vector<std::optional<std::vector<SeenProcess>>>;

struct ProcessOwners {
  std::function<ProcessOwner(std::int64_t pid)> owner{};
  // Jobs on each GPU, by the scheduler's index, in the order of their start: hidden processes may
  // be theirs.
  std::map<unsigned, std::vector<JobId>> residents{};
};

// A running job: its processes descend from the supervisor or are in the session.
struct JobProcesses {
  JobId job = 0;
  pid_t supervisor = 0;
  pid_t session = 0;
};

// From the process table of the time when a process is asked for first.
[[nodiscard]] ProcessOwners find_process_owners(std::span<const JobProcesses> running,
                                                std::map<unsigned, std::vector<JobId>> residents);

}  // namespace carpool::observe
