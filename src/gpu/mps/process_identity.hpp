// Identifies a process by PID and start time, because the kernel reuses PIDs.
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

// Fields of /proc/PID/stat.
struct ProcessStat {
  std::string name;  // at most 15 characters
  char state = '?';
  std::uint64_t start_ticks = 0;
};

// Nothing if the text is not a line of /proc/PID/stat.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view line);

// Nothing if there is no such process or it is a zombie.
[[nodiscard]] std::optional<ProcessIdentity> identify(pid_t pid);

enum class Liveness {
  Alive,
  Ended,
  Unknown,  // /proc cannot be read now: no descriptor is left, …
};
[[nodiscard]] Liveness liveness_of(const ProcessIdentity& process);

// Also where the process cannot be looked at.
[[nodiscard]] bool is_alive(const ProcessIdentity& process);

// Whether the process runs this program and was started with this variable; false if the kernel
// does not show it.
[[nodiscard]] bool runs_with(pid_t pid,
                             const std::filesystem::path& program,
                             std::string_view variable,
                             std::string_view value);

// False if the process has ended; never signals another process with the same PID.
bool send_signal(const ProcessIdentity& process, int signal);

}  // namespace carpool::gpu
