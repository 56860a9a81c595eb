#include "gpu/mps/process_identity.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files/proc_file.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/process_table.hpp"

namespace carpool::gpu {
namespace {

std::string read_proc(pid_t pid, std::string_view name) {
  return read_proc_file(fmt::format("/proc/{}/{}", pid, name));
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  // The name is in parentheses and may hold any character, parentheses and blanks included.
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  ProcessStat stat;
  stat.name = line.substr(open + 1, close - open - 1);
  std::string_view rest = line.substr(close + 1);
  if (rest.size() < 2 || rest[0] != ' ') {
    return std::nullopt;
  }
  stat.state = rest[1];
  constexpr int kFieldsBeforeStart =
      20;  // the state is field 3, the start field 22, each after " "
  for (int field = 0; field < kFieldsBeforeStart; ++field) {
    const std::size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) {
      return std::nullopt;
    }
    rest.remove_prefix(blank + 1);
  }
  const auto [end, error] =
      std::from_chars(rest.data(), rest.data() + rest.size(), stat.start_ticks);
  if (error != std::errc{} || end == rest.data()) {
    return std::nullopt;
  }
  return stat;
}

std::optional<ProcessIdentity> identify(pid_t pid) {
  const std::optional<ProcessStat> stat = parse_process_stat(read_proc(pid, "stat"));
  if (!stat || stat->state == 'Z' || stat->state == 'X') {
    return std::nullopt;
  }
  return ProcessIdentity{pid, stat->start_ticks};
}

Liveness liveness_of(const ProcessIdentity& process) {
  const std::string name = fmt::format("/proc/{}/stat", process.pid);
  const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return errno == ENOENT || errno == ESRCH ? Liveness::Ended : Liveness::Unknown;
  }
  std::array<char, 1024> line{};
  ssize_t got = 0;
  do {
    got = ::read(file.get(), line.data(), line.size());
  } while (got < 0 && errno == EINTR);
  if (got <= 0) {
    return got == 0 || errno == ESRCH ? Liveness::Ended : Liveness::Unknown;
  }
  const std::optional<ProcessStat> stat =
      parse_process_stat(std::string_view(line.data(), static_cast<std::size_t>(got)));
  if (!stat) {
    return Liveness::Unknown;
  }
  const bool ended =
      stat->state == 'Z' || stat->state == 'X' || stat->start_ticks != process.start_ticks;
  return ended ? Liveness::Ended : Liveness::Alive;
}

bool is_alive(const ProcessIdentity& process) {
  return liveness_of(process) != Liveness::Ended;
}

bool runs_with(pid_t pid,
               const std::filesystem::path& program,
               std::string_view variable,
               std::string_view value) {
  constexpr std::size_t kNameLength = 15;  // the kernel keeps 15 characters
  const std::optional<ProcessStat> stat = parse_process_stat(read_proc(pid, "stat"));
  if (!stat || stat->name != program.filename().string().substr(0, kNameLength)) {
    return false;
  }
  return was_started_with(pid, variable, value);
}

bool send_signal(const ProcessIdentity& process, int signal) {
  // Opened before the check: it refers to the same process until the signal.
  const Descriptor handle = open_pidfd(process.pid);
  return handle.valid() && liveness_of(process) == Liveness::Alive && signal_pidfd(handle, signal);
}

}  // namespace carpool::gpu
