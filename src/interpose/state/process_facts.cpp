#include "interpose/state/process_facts.hpp"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace carpool::interpose {
namespace {

constexpr int kStartField = 22;
constexpr int kFieldBehindName = 3;

// What follows the name in /proc/PID/stat, which the buffer keeps; empty if there is no such
// process.
std::string_view fields_of(pid_t pid, std::array<char, 1024>& buffer) {
  std::array<char, 32> path{"/proc/self/stat"};
  if (pid != 0) {
    std::snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
  }
  const int opened = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    return {};
  }
  const ssize_t count = ::read(opened, buffer.data(), buffer.size());
  ::close(opened);
  std::string_view line(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  // The name, in parentheses, may hold spaces and parentheses.
  const std::size_t behind_name = line.rfind(')');
  if (behind_name == std::string_view::npos) {
    return {};
  }
  line.remove_prefix(behind_name + 1);
  return line;
}

}  // namespace

std::uint64_t start_ticks_of(pid_t pid) {
  std::array<char, 1024> buffer{};
  std::string_view line = fields_of(pid, buffer);
  for (int field = kFieldBehindName; field <= kStartField; ++field) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) {
      return 0;
    }
    line.remove_prefix(space + 1);
  }
  std::uint64_t ticks = 0;
  for (const char digit : line) {
    if (digit < '0' || digit > '9') {
      break;
    }
    ticks = ticks * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return ticks;
}

bool process_runs(pid_t pid) {
  std::array<char, 1024> buffer{};
  const std::string_view fields = fields_of(pid, buffer);
  constexpr std::string_view kNotRunning = "TtZXx";
  return fields.size() > 2 && kNotRunning.find(fields[1]) == std::string_view::npos;
}

std::uint64_t own_pid_namespace() {
  struct stat found{};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

}  // namespace carpool::interpose
