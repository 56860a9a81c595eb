// User and command of a process, from /proc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace carpool::app {

// Empty if unknown: the process has ended or is hidden.
struct ProcessName {
  std::string user;
  std::string command;  // with its arguments, separated by blanks; printable
};

[[nodiscard]] ProcessName name_process(std::int64_t pid,
                                       const std::filesystem::path& proc = "/proc");

}  // namespace carpool::app
