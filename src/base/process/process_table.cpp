#include "base/process/process_table.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "base/files/proc_file.hpp"

namespace carpool {
namespace {

std::string read_proc(const std::string& name) {
  return read_proc_file(fmt::format("/proc/{}", name));
}

std::vector<pid_t> process_numbers() {
  std::vector<pid_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem == std::errc{} && end == name.data() + name.size()) {
      numbers.push_back(pid);
    }
  }
  return numbers;
}

}  // namespace

std::vector<ProcessEntry> list_processes() {
  std::vector<ProcessEntry> found;
  for (const pid_t pid : process_numbers()) {
    const std::string stat = read_proc(fmt::format("{}/stat", pid));
    // The name is in brackets and may hold anything.
    const std::size_t close = stat.rfind(')');
    if (close == std::string::npos) {
      continue;  // it has ended since
    }
    ProcessEntry entry{.pid = pid};
    pid_t group = 0;
    std::istringstream fields(stat.substr(close + 1));
    if (fields >> entry.state >> entry.parent >> group >> entry.session) {
      found.push_back(entry);
    }
  }
  return found;
}

std::vector<pid_t> job_processes(const std::vector<ProcessEntry>& processes,
                                 pid_t ancestor,
                                 pid_t session) {
  std::multimap<pid_t, pid_t> children;
  for (const ProcessEntry& entry : processes) {
    children.emplace(entry.parent, entry.pid);
  }
  std::set<pid_t> reached;
  std::vector<pid_t> waiting{ancestor};
  while (!waiting.empty()) {
    const auto [first, last] = children.equal_range(waiting.back());
    waiting.pop_back();
    for (auto child = first; child != last; ++child) {
      if (reached.insert(child->second).second) {
        waiting.push_back(child->second);
      }
    }
  }
  std::vector<pid_t> members;
  for (const ProcessEntry& entry : processes) {
    const bool ours = reached.contains(entry.pid) || (session > 0 && entry.session == session);
    if (ours && entry.pid != ancestor && entry.state != 'Z' && entry.state != 'X') {
      members.push_back(entry.pid);
    }
  }
  return members;
}

std::vector<pid_t> processes_with(std::string_view variable, std::string_view value) {
  const std::string wanted = fmt::format("{}={}", variable, value);
  std::vector<pid_t> found;
  for (const pid_t pid : process_numbers()) {
    const std::string environment = read_proc(fmt::format("{}/environ", pid));
    std::string_view rest = environment;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\0');
      if (rest.substr(0, end) == wanted) {
        found.push_back(pid);
        break;
      }
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  return found;
}

std::string process_command(std::int64_t pid, const std::filesystem::path& proc) {
  const std::filesystem::path folder = proc / std::to_string(pid);
  const auto is_blank = [](unsigned char byte) { return byte <= ' ' || byte == 0x7F; };
  std::string command = read_proc_file(folder / "cmdline");
  if (std::ranges::all_of(command, is_blank)) {
    command = read_proc_file(folder / "comm");
  }
  command.resize(std::min(command.size(), kMaxCommandBytes));
  return command;
}

std::string boot_id() {
  std::string id = read_proc("sys/kernel/random/boot_id");
  std::erase(id, '\n');
  return id;
}

std::uint64_t host_memory_kills() {
  std::istringstream lines(read_proc("vmstat"));
  std::string name;
  std::uint64_t count = 0;
  while (lines >> name >> count) {
    if (name == "oom_kill") {
      return count;
    }
  }
  return 0;
}

}  // namespace carpool
