#include "base/process/process_table.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "base/files/proc_file.hpp"
#include "base/process/descriptor.hpp"

namespace carpool {
namespace {

std::string read_proc(const std::string& name) {
  return read_proc_file(fmt::format("/proc/{}", name));
}

std::vector<pid_t> process_numbers() {
  std::vector<pid_t> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), last; !error && entry != last;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem == std::errc{} && end == name.data() + name.size()) {
      numbers.push_back(pid);
    }
  }
  return numbers;
}

bool is_open_for_writing(pid_t pid, const std::string& descriptor) {
  std::istringstream lines(read_proc(fmt::format("{}/fdinfo/{}", pid, descriptor)));
  std::string name;
  while (lines >> name) {
    unsigned flags = 0;
    if (name == "flags:" && lines >> std::oct >> flags) {
      return (flags & O_ACCMODE) != O_RDONLY;
    }
  }
  return false;
}

}  // namespace

std::optional<ProcessEntry> find_process(pid_t pid) {
  constexpr int kBetween = 15;  // fields between the session, field 6, and the start, field 22
  const std::string stat = read_proc(fmt::format("{}/stat", pid));
  // The name is in brackets and may hold anything.
  const std::size_t close = stat.rfind(')');
  if (close == std::string::npos) {
    return std::nullopt;
  }
  ProcessEntry entry{.pid = pid};
  std::string skipped;
  std::istringstream fields(stat.substr(close + 1));
  fields >> entry.state >> entry.parent >> skipped >> entry.session;
  for (int field = 0; field < kBetween; ++field) {
    fields >> skipped;
  }
  return fields >> entry.start_ticks ? std::optional(entry) : std::nullopt;
}

std::vector<ProcessEntry> list_processes() {
  std::vector<ProcessEntry> found;
  for (const pid_t pid : process_numbers()) {
    if (const std::optional<ProcessEntry> entry = find_process(pid)) {
      found.push_back(*entry);
    }
  }
  return found;
}

std::vector<ProcessEntry> job_processes(const std::vector<ProcessEntry>& processes,
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
  std::vector<ProcessEntry> members;
  for (const ProcessEntry& entry : processes) {
    const bool ours = reached.contains(entry.pid) || (session > 0 && entry.session == session);
    if (ours && entry.pid != ancestor && entry.state != 'Z' && entry.state != 'X') {
      members.push_back(entry);
    }
  }
  return members;
}

bool kill_process(const ProcessEntry& process) {
  // Opened before the check: it refers to the same process until the signal.
  const Descriptor handle = open_pidfd(process.pid);
  const std::optional<ProcessEntry> now = find_process(process.pid);
  return handle.valid() && now && now->start_ticks == process.start_ticks &&
         signal_pidfd(handle, SIGKILL);
}

std::vector<pid_t> processes_with(std::string_view variable, std::string_view value) {
  std::vector<pid_t> found = process_numbers();
  std::erase_if(found, [&](pid_t pid) { return !was_started_with(pid, variable, value); });
  return found;
}

bool was_started_with(pid_t pid, std::string_view variable, std::string_view value) {
  const std::string wanted = fmt::format("{}={}", variable, value);
  const std::string environment = read_proc(fmt::format("{}/environ", pid));
  for (std::string_view rest = environment; !rest.empty();) {
    const std::size_t end = rest.find('\0');
    if (rest.substr(0, end) == wanted) {
      return true;
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return false;
}

std::optional<uid_t> process_user(pid_t pid) {
  std::istringstream lines(read_proc(fmt::format("{}/status", pid)));
  std::string line;
  while (std::getline(lines, line)) {
    constexpr std::string_view kKey = "Uid:";
    uid_t user = 0;
    if (line.starts_with(kKey) && std::istringstream(line.substr(kKey.size())) >> user) {
      return user;
    }
  }
  return std::nullopt;
}

bool writes_to(pid_t pid, const std::vector<std::filesystem::path>& files) {
  std::error_code error;
  const std::filesystem::path folder = fmt::format("/proc/{}/fd", pid);
  // The links are read, not followed: a file may be on a server that does not answer.
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code closed;
    const std::filesystem::path file = std::filesystem::read_symlink(entry->path(), closed);
    if (!closed && std::ranges::find(files, file) != files.end() &&
        is_open_for_writing(pid, entry->path().filename().string())) {
      return true;
    }
  }
  return false;
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
