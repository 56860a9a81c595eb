// The cgroup of an attempt: what its processes may use together, and how they are killed at once.
// Where the cgroup of the server is ours to divide, it becomes
//
//   server/       the server
//   supervisors/  supervisors and MPS daemons, which outlive the server
//   jobs/         limits for all jobs together
//     TAG-17.1/   the processes of one attempt, but not its supervisor
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/run.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {

// Divides the cgroup of this process, moves this process to `server/` and returns `jobs/`. Fails
// where the cgroup is not delegated to this user; the jobs of the server then have no cgroups.
[[nodiscard]] Result<std::filesystem::path> divide_own_cgroup();

// The same for a server that goes on without: empty, and logged, where it fails.
[[nodiscard]] std::filesystem::path job_cgroups();

// The limits of all jobs together, in the parts of this cgroup; `below_root`: the root of the
// hierarchy is above it.
void limit_all_jobs(const std::filesystem::path& base, bool below_root);

// How a running server uses cgroups, as another process sees it.
struct CgroupUse {
  bool divided = false;  // its jobs have cgroups
  bool limits_processes = false;
  bool limits_memory = false;
};
[[nodiscard]] CgroupUse cgroup_use_of(pid_t server);

// `jobs/TAG-17.1`. The tag differs between servers that share a cgroup.
[[nodiscard]] std::filesystem::path job_cgroup_path(const std::filesystem::path& jobs,
                                                    const std::filesystem::path& runs,
                                                    const std::string& journal,
                                                    RunId run);

// Moves this process out of `server/`; for a supervisor.
void leave_server_cgroup(const std::filesystem::path& job_cgroup);

// Records the cgroup in the run folder and creates it, with its limits.
[[nodiscard]] Result<void> make_job_cgroup(const RunFolder& folder,
                                           const std::filesystem::path& cgroup);

// The cgroup recorded for the attempt; nothing if it has none.
[[nodiscard]] std::optional<std::filesystem::path> recorded_cgroup(const RunFolder& folder);

}  // namespace carpool::run
