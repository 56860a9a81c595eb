// The processes of this machine, from /proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace carpool {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';               // 'Z': zombie
  std::uint64_t start_ticks = 0;  // since boot; with the PID it identifies the process
};

// Every process that this user can see.
[[nodiscard]] std::vector<ProcessEntry> list_processes();

// Nothing when there is none, or none that this user can see.
[[nodiscard]] std::optional<ProcessEntry> find_process(pid_t pid);

// Processes that descend from `ancestor`, without `ancestor`, or belong to the session; no zombies.
// Session 0: only descendants.
[[nodiscard]] std::vector<ProcessEntry> job_processes(const std::vector<ProcessEntry>& processes,
                                                      pid_t ancestor,
                                                      pid_t session);

// Kills this process, and never another one that has its PID now. False: it has ended.
bool kill_process(const ProcessEntry& process);

// Processes that were started with this variable set to this value, as far as the kernel permits
// reading their environment.
[[nodiscard]] std::vector<pid_t> processes_with(std::string_view variable, std::string_view value);
[[nodiscard]] bool was_started_with(pid_t pid, std::string_view variable, std::string_view value);

// The real user; nothing when the process has ended.
[[nodiscard]] std::optional<uid_t> process_user(pid_t pid);

// Whether the process has one of the files open for writing, as far as the kernel permits looking.
// The paths are free of links.
[[nodiscard]] bool writes_to(pid_t pid, const std::vector<std::filesystem::path>& files);

// The command line, arguments separated by NUL, at most kMaxCommandBytes of it; where it is blank,
// the short name. Empty: the process has ended, or is hidden.
inline constexpr std::size_t kMaxCommandBytes = 1024;
[[nodiscard]] std::string process_command(std::int64_t pid,
                                          const std::filesystem::path& proc = "/proc");

// Differs at each boot of the machine.
[[nodiscard]] std::string boot_id();

// Processes that the kernel killed for lack of memory since boot; 0 where it does not count them.
[[nodiscard]] std::uint64_t host_memory_kills();

}  // namespace carpool
