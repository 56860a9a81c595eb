// Who a process belongs to and what it runs, as this machine's /proc tells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace carpool::app {

// Empty where it is not known: the process has ended, or lives where we cannot see it.
struct ProcessName {
  std::string user;
  std::string command;  // with its arguments, blanks between; no control characters
};

[[nodiscard]] ProcessName name_process(std::int64_t pid,
                                       const std::filesystem::path& proc = "/proc");

}  // namespace carpool::app
