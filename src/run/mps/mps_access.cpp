#include "run/mps/mps_access.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/process/descriptor.hpp"
#include "base/process/spawn.hpp"

namespace carpool::run {

Result<gpu::MpsControl> control_of(const MpsPlace& place) {
  const Result<std::filesystem::path> program = gpu::find_mps_program();
  if (!program) {
    return tl::unexpected(program.error());
  }
  const Result<gpu::MpsFolder> folder = gpu::MpsFolder::at(place.folder);
  if (!folder) {
    return tl::unexpected(folder.error());
  }
  return gpu::MpsControl(*program, *folder);
}

std::filesystem::path control_log(const MpsPlace& place) {
  return place.folder / "log" / "control.log";
}

std::filesystem::path server_log(const MpsPlace& place) {
  return place.folder / "log" / "server.log";
}

Started<std::string> as_job_user(const SupervisorOrder& order,
                                 const std::function<std::string()>& work) {
  constexpr std::string_view kWhat = "ask the MPS daemon";
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return machine_trouble(TroubleScope::Machine, fmt::format("{}: {}", kWhat, last_error()));
  }
  const Descriptor heard(ends[0]);
  Descriptor said(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!become_job_user(order)) {
      ::_exit(1);
    }
    default_signals();
    const std::string words = work();
    const ssize_t told = ::write(said.get(), words.data(), words.size());
    ::_exit(told == static_cast<ssize_t>(words.size()) ? 0 : 1);
  }
  if (pid < 0) {
    return machine_trouble(TroubleScope::Machine, fmt::format("{}: {}", kWhat, last_error()));
  }
  said.reset();
  std::string words;
  std::array<char, 512> part{};
  ssize_t got = 0;
  while ((got = ::read(heard.get(), part.data(), part.size())) > 0 || (got < 0 && errno == EINTR)) {
    words.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return machine_trouble(
        TroubleScope::User,
        fmt::format("{}: no process can be started as user {}", kWhat, order.user));
  }
  return words;
}

}  // namespace carpool::run
