// Whether the jobs of the servers on this machine have cgroups of their own.
#pragma once

#include <optional>
#include <sys/types.h>

#include "run/job_cgroup.hpp"

namespace carpool::app {

struct CgroupFacts {
  bool mounted = false;           // version 2
  std::optional<pid_t> server{};  // the one that uses them least; absent: none is visible
  run::CgroupUse use{};           // by that server
};

[[nodiscard]] CgroupFacts look_at_cgroups();

}  // namespace carpool::app
