#include "profile/watch/process_use.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <unistd.h>

#include "dataset/csv.hpp"

namespace carpool::profile {
namespace {

// The fields of /proc/PID/stat after the name, which may hold any character and ends at the last
// ')'.
struct Stat {
  pid_t group = 0;
  double ticks = 0.0;
  double pages = 0.0;
};

Stat read_stat(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  Stat out;
  if (end == std::string::npos) {
    return out;
  }
  std::istringstream fields(text.substr(end + 1));
  std::string word;
  constexpr int kGroup = 5;  // field numbers of proc(5)
  constexpr int kUserTicks = 14;
  constexpr int kSystemTicks = 15;
  constexpr int kResident = 24;
  for (int field = 3; field <= kResident && fields >> word; ++field) {
    const double value = dataset::parse_number(word).value_or(0.0);
    if (field == kGroup) {
      out.group = static_cast<pid_t>(value);
    } else if (field == kUserTicks || field == kSystemTicks) {
      out.ticks += value;
    } else if (field == kResident) {
      out.pages = value;
    }
  }
  return out;
}

}  // namespace

ProcessUse process_use(pid_t group) {
  ProcessUse use;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    const Stat stat = read_stat(entry.path());
    if (stat.group == group) {
      use.cpu_seconds += stat.ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
      use.memory_share += stat.pages / static_cast<double>(::sysconf(_SC_PHYS_PAGES));
    }
  }
  return use;
}

}  // namespace carpool::profile
