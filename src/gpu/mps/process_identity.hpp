// A process that stays itself: the number together with the time of its start, because numbers are
// used again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace carpool::gpu {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // since boot: field 22 of /proc/PID/stat

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

// What /proc/PID/stat says.
struct ProcessStat {
  std::string name;  // at most 15 characters
  char state = '?';
  std::uint64_t start_ticks = 0;
};

// Nothing for what is not a line of /proc/PID/stat.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view line);

// Nothing when there is no such process, or only a zombie of it.
[[nodiscard]] std::optional<ProcessIdentity> identify(pid_t pid);

[[nodiscard]] bool is_alive(const ProcessIdentity& process);

// Whether that process runs this program and was started with this variable so set; false as well
// where the kernel does not let us look.
[[nodiscard]] bool runs_with(pid_t pid,
                             const std::filesystem::path& program,
                             std::string_view variable,
                             std::string_view value);

// False when that process is no more; another one that has its number now is never hit.
bool send_signal(const ProcessIdentity& process, int signal);

}  // namespace carpool::gpu
