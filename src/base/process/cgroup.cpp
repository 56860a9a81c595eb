#include "base/process/cgroup.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/proc_file.hpp"
#include "base/process/descriptor.hpp"

namespace carpool {
namespace {

constexpr std::chrono::milliseconds kLookAgain{2};

// mountinfo writes blanks, tabs, line feeds and backslashes as three octal digits.
std::string unescaped(std::string_view text) {
  constexpr std::size_t kDigits = 3;
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, kDigits);
    if (text[i] == '\\' && digits.size() == kDigits &&
        digits.find_first_not_of("01234567") == std::string_view::npos) {
      plain += static_cast<char>(std::stoi(std::string(digits), nullptr, 8));
      i += kDigits;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The number after a key of a file of lines "key number".
std::optional<std::uint64_t> number_of(const std::filesystem::path& file, std::string_view key) {
  std::istringstream lines(read_proc_file(file));
  std::string name;
  std::uint64_t value = 0;
  while (lines >> name >> value) {
    if (name == key) {
      return value;
    }
  }
  return std::nullopt;
}

std::vector<std::filesystem::path> cgroups_below(const std::filesystem::path& cgroup) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(cgroup, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_symlink(ignored) && entry->is_directory(ignored)) {
      found.push_back(entry->path());
    }
  }
  return found;
}

void kill_one_by_one(const std::filesystem::path& cgroup) {
  std::istringstream numbers(read_proc_file(cgroup / "cgroup.procs"));
  pid_t pid = 0;
  while (numbers >> pid) {
    // The handle stands for one process: that it is in the cgroup is checked after opening it.
    const Descriptor process = open_pidfd(pid);
    if (pid > 1 && process.valid() && cgroup_of(pid) == cgroup) {
      signal_pidfd(process, SIGKILL);
    }
  }
  for (const std::filesystem::path& below : cgroups_below(cgroup)) {
    kill_one_by_one(below);
  }
}

}  // namespace

std::optional<CgroupMount> parse_cgroup_mount(std::string_view mountinfo) {
  std::istringstream lines{std::string(mountinfo)};
  std::string line;
  while (std::getline(lines, line)) {
    // ID parent device root point options optional-fields - type source options
    const std::size_t dash = line.find(" - ");
    std::istringstream before(line.substr(0, dash));
    std::istringstream after(dash == std::string::npos ? std::string() : line.substr(dash + 3));
    std::string skipped;
    std::string root;
    std::string point;
    std::string type;
    if (before >> skipped >> skipped >> skipped >> root >> point && after >> type &&
        type == "cgroup2") {
      return CgroupMount{.point = unescaped(point), .root = unescaped(root)};
    }
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> parse_cgroup_path(std::string_view text) {
  constexpr std::string_view kStart = "0::/";
  constexpr std::string_view kDeleted = " (deleted)";
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with(kStart) && !line.ends_with(kDeleted)) {
      return line.substr(kStart.size() - 1);
    }
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> cgroup_folder(const CgroupMount& mount,
                                                   const std::filesystem::path& path) {
  const std::filesystem::path below = path.lexically_relative(mount.root);
  if (below.empty() || *below.begin() == "..") {
    return std::nullopt;  // outside of the namespace or of what is mounted
  }
  return below == "." ? mount.point : mount.point / below;
}

std::optional<std::filesystem::path> cgroup_of(pid_t pid) {
  const auto mount = parse_cgroup_mount(read_proc_file("/proc/self/mountinfo"));
  const auto path = parse_cgroup_path(read_proc_file(fmt::format("/proc/{}/cgroup", pid)));
  return mount && path ? cgroup_folder(*mount, *path) : std::nullopt;
}

Result<void> make_cgroup(const std::filesystem::path& cgroup) {
  if (::mkdir(cgroup.c_str(), 0755) != 0 && errno != EEXIST) {
    return fail(ErrorCode::Unavailable,
                fmt::format("create the cgroup {}: {}", cgroup.string(), last_error()));
  }
  return {};
}

Result<void> set_cgroup(const std::filesystem::path& cgroup,
                        const char* file,
                        std::string_view value) {
  const std::filesystem::path path = cgroup / file;
  const Descriptor opened(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!opened.valid() || ::write(opened.get(), value.data(), value.size()) < 0) {
    return fail(ErrorCode::Unavailable,
                fmt::format("write \"{}\" to {}: {}", value, path.string(), last_error()));
  }
  return {};
}

Result<void> enter_cgroup(const std::filesystem::path& cgroup, pid_t pid) {
  return set_cgroup(cgroup, "cgroup.procs", fmt::format("{}", pid));
}

bool has_controller(const std::filesystem::path& cgroup, std::string_view controller) {
  std::istringstream names(read_proc_file(cgroup / "cgroup.controllers"));
  std::string name;
  while (names >> name) {
    if (name == controller) {
      return true;
    }
  }
  return false;
}

bool is_populated(const std::filesystem::path& cgroup) {
  return number_of(cgroup / "cgroup.events", "populated").value_or(0) != 0;
}

Result<void> freeze_cgroup(const std::filesystem::path& cgroup, std::chrono::milliseconds limit) {
  if (Result<void> ordered = set_cgroup(cgroup, "cgroup.freeze", "1"); !ordered) {
    return ordered;
  }
  const Stopwatch watch;
  while (!is_frozen(cgroup) && watch.seconds() < std::chrono::duration<double>(limit).count()) {
    pause_for(kLookAgain);
  }
  return {};
}

void thaw_cgroup(const std::filesystem::path& cgroup) {
  static_cast<void>(set_cgroup(cgroup, "cgroup.freeze", "0"));
}

bool is_frozen(const std::filesystem::path& cgroup) {
  return number_of(cgroup / "cgroup.events", "frozen").value_or(0) != 0;
}

void kill_cgroup(const std::filesystem::path& cgroup) {
  if (!set_cgroup(cgroup, "cgroup.kill", "1")) {
    kill_one_by_one(cgroup);
  }
}

bool remove_cgroup(const std::filesystem::path& cgroup) {
  for (const std::filesystem::path& below : cgroups_below(cgroup)) {
    if (!remove_cgroup(below)) {
      return false;
    }
  }
  return ::rmdir(cgroup.c_str()) == 0 || errno == ENOENT;
}

bool end_cgroup(const std::filesystem::path& cgroup, std::chrono::milliseconds limit) {
  const Stopwatch watch;
  while (is_populated(cgroup)) {
    if (watch.seconds() > std::chrono::duration<double>(limit).count()) {
      return false;
    }
    kill_cgroup(cgroup);
    pause_for(kLookAgain);
  }
  remove_cgroup(cgroup);
  return true;
}

std::optional<std::uint64_t> cgroup_memory_kills(const std::filesystem::path& cgroup) {
  return number_of(cgroup / "memory.events", "oom_kill");
}

}  // namespace carpool
