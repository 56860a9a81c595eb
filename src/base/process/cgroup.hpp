// Control groups, version 2: where they are, from /proc, and the operations on one of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "base/result.hpp"

namespace carpool {

struct CgroupMount {
  std::filesystem::path point{};  // where version 2 is mounted
  std::filesystem::path root{};   // the part of the hierarchy that is visible there
};

// From the text of /proc/self/mountinfo. On a hybrid host version 1 is mounted as well, and is
// passed over.
[[nodiscard]] std::optional<CgroupMount> parse_cgroup_mount(std::string_view mountinfo);

// The path within the hierarchy, from the text of /proc/PID/cgroup.
[[nodiscard]] std::optional<std::filesystem::path> parse_cgroup_path(std::string_view text);

// The folder of that path; nothing when it is not visible at the mount point.
[[nodiscard]] std::optional<std::filesystem::path> cgroup_folder(const CgroupMount& mount,
                                                                 const std::filesystem::path& path);

// The folder of the cgroup of a process; nothing without version 2.
[[nodiscard]] std::optional<std::filesystem::path> cgroup_of(pid_t pid);

// Makes the folder of a cgroup. An existing one is not an error.
[[nodiscard]] Result<void> make_cgroup(const std::filesystem::path& cgroup);

// Writes to a file of the cgroup, such as "pids.max".
[[nodiscard]] Result<void> set_cgroup(const std::filesystem::path& cgroup,
                                      const char* file,
                                      std::string_view value);

// Moves a process, with all of its threads, to the cgroup.
[[nodiscard]] Result<void> enter_cgroup(const std::filesystem::path& cgroup, pid_t pid);

// Whether the controller, such as "pids", is available in the cgroup.
[[nodiscard]] bool has_controller(const std::filesystem::path& cgroup, std::string_view controller);

// Whether a process is in it or below it. False when there is no such cgroup.
[[nodiscard]] bool is_populated(const std::filesystem::path& cgroup);

// Stops every process in it and below it, including those that are created later. Returns when all
// stand still, or after `limit`: one that waits for a disk stops when that answers. Unavailable
// before Linux 5.2.
[[nodiscard]] Result<void> freeze_cgroup(const std::filesystem::path& cgroup,
                                         std::chrono::milliseconds limit);

// Lets them go on; for one that is not frozen, too.
void thaw_cgroup(const std::filesystem::path& cgroup);

// Whether every process in it and below it stands still.
[[nodiscard]] bool is_frozen(const std::filesystem::path& cgroup);

// Kills every process in it and below it, including those that are being created. Before Linux 5.14
// those that exist at the moment.
void kill_cgroup(const std::filesystem::path& cgroup);

// Removes it and those below it; false while a process is in one of them.
bool remove_cgroup(const std::filesystem::path& cgroup);

// Kills, waits and removes. False when a process still exists after `limit`.
[[nodiscard]] bool end_cgroup(const std::filesystem::path& cgroup, std::chrono::milliseconds limit);

// Processes of the cgroup that the kernel killed for lack of memory; nothing where it does not
// count them by cgroup.
[[nodiscard]] std::optional<std::uint64_t> cgroup_memory_kills(const std::filesystem::path& cgroup);

}  // namespace carpool
