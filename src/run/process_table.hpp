// The processes of this machine, as /proc tells: who belongs to a job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace carpool::run {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';  // 'Z': dead, not yet waited for
};

// Every process that this user may see.
[[nodiscard]] std::vector<ProcessEntry> list_processes();

// Those among `processes` that descend from `ancestor`, itself left out, or belong to the session;
// zombies left out.
[[nodiscard]] std::vector<pid_t> job_processes(const std::vector<ProcessEntry>& processes,
                                               pid_t ancestor,
                                               pid_t session);

// Those that were started with this variable so set; only those that the kernel lets us look into.
[[nodiscard]] std::vector<pid_t> processes_with(std::string_view variable, std::string_view value);

// What tells this boot of the machine from every other.
[[nodiscard]] std::string boot_id();

// Processes that the kernel has killed for want of memory since boot; 0 where it does not count.
[[nodiscard]] std::uint64_t host_memory_kills();

}  // namespace carpool::run
