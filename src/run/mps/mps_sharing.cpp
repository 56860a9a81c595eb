#include "run/mps/mps_sharing.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/process/spawn.hpp"
#include "gpu/mps/mps_control.hpp"
#include "gpu/mps/mps_daemon.hpp"
#include "gpu/mps/mps_ending.hpp"
#include "run/mps/mps_keeper.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor_launch.hpp"

namespace carpool::run {
namespace {

// A daemon takes up to 30 s to start, after one that takes up to 15 s to stop.
constexpr std::chrono::seconds kJoinLimit{60};
constexpr std::chrono::milliseconds kAskAgain{250};
constexpr int kMostAsks = 40;
constexpr std::size_t kMostLogBytes = std::size_t{1} << 20U;

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

// What `work` returns in a process with the job's rights: a root supervisor does not use a user's
// pipe itself.
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

std::filesystem::path log_of(const MpsPlace& place) {
  return place.folder / "log" / "control.log";
}

struct DaemonSeen {
  gpu::ProcessIdentity daemon{};
  bool kept = false;  // its keeper is alive
  std::uint64_t log_bytes = 0;
};

// "PID START KEPT LOG", empty if no daemon answers.
std::string describe_daemon(const MpsPlace& place) {
  const Result<gpu::MpsControl> control = control_of(place);
  if (!control || !control->ask("get_server_list")) {
    return {};
  }
  const std::optional<gpu::ProcessIdentity> daemon = gpu::mps_daemon_in(*control);
  if (!daemon) {
    return {};
  }
  const auto owner = control->folder().owner();
  struct stat log{};
  const bool has_log = ::stat(log_of(place).c_str(), &log) == 0;
  return fmt::format("{} {} {} {}",
                     daemon->pid,
                     daemon->start_ticks,
                     owner && *owner && gpu::is_alive(**owner) ? 1 : 0,
                     has_log ? log.st_size : 0);
}

// Nothing if no daemon answers.
Started<std::optional<DaemonSeen>> look_for_daemon(const SupervisorOrder& order) {
  const Started<std::string> words =
      as_job_user(order, [&] { return describe_daemon(*order.mps); });
  if (!words) {
    return tl::unexpected(words.error());
  }
  DaemonSeen seen;
  std::istringstream fields(*words);
  if (fields >> seen.daemon.pid >> seen.daemon.start_ticks >> seen.kept >> seen.log_bytes) {
    return seen;
  }
  return std::nullopt;
}

// Keepers of older versions look at another file.
Descriptor lock_for_old_keeper(const MpsPlace& place) {
  const std::string file = place.folder.string() + ".users";
  Descriptor lock(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (lock.valid() && !try_lock(lock, LOCK_SH)) {
    lock.reset();
  }
  return lock;
}

// The daemon says when a server has ended, whatever the cause.
bool server_ended_since(const MpsPlace& place, std::uint64_t log_bytes) {
  struct stat log{};
  if (::stat(log_of(place).c_str(), &log) != 0) {
    return false;
  }
  const auto size = static_cast<std::uint64_t>(log.st_size);
  const std::uint64_t grown = size - std::min(size, log_bytes);
  const std::string text = tail_of(log_of(place), std::min<std::uint64_t>(grown, kMostLogBytes));
  return text.find(" exited with status ") != std::string::npos;
}

}  // namespace

Started<MpsUse> join_mps(const SupervisorOrder& order, const StopHeard& stop_heard) {
  const MpsPlace& place = *order.mps;
  const StartWait wait(stop_heard, kJoinLimit);
  // Waits while a keeper without users stops its daemon.
  Started<Descriptor> need = lock_mps(place.users, LOCK_SH, wait);
  if (!need) {
    return tl::unexpected(need.error());
  }
  const Started<Descriptor> start_lock =
      lock_mps(fmt::format("{}.start", place.users.string()), LOCK_EX, wait);
  if (!start_lock) {
    return tl::unexpected(start_lock.error());
  }
  // The process that held the lock before may have removed the folder with a dead daemon.
  if (const Result<void> made =
          make_daemon_folder(place.folder, order.become_uid.value_or(::geteuid()));
      !made) {
    return machine_trouble(TroubleScope::Gpus, made.error().message);
  }
  MpsUse use{.lock = std::move(*need), .old_lock = lock_for_old_keeper(place)};
  Started<std::optional<DaemonSeen>> seen = look_for_daemon(order);
  if (seen && (!*seen || !(*seen)->kept)) {
    if (const Started<void> started = start_mps_keeper(order, *start_lock, wait); !started) {
      return tl::unexpected(started.error());
    }
    seen = look_for_daemon(order);
  }
  if (!seen) {
    return tl::unexpected(seen.error());
  }
  if (!*seen) {
    return machine_trouble(TroubleScope::Gpus,
                           fmt::format("start MPS on {}: its daemon ended at once; see {}",
                                       place.gpu_uuid,
                                       log_of(place).string()));
  }
  use.daemon = (*seen)->daemon;
  use.log_bytes = (*seen)->log_bytes;
  return use;
}

void leave_mps(const SupervisorOrder& order, MpsUse use) {
  use.old_lock.reset();
  if (!use.lock.valid() || !try_lock(use.lock, LOCK_EX)) {
    return;  // others need the daemon
  }
  // A daemon that is left is swept by the next server.
  static_cast<void>(as_job_user(order, [&] {
    const Result<bool> swept = gpu::sweep_dead_daemon(order.mps->folder);
    return std::string(swept ? "" : swept.error().message);
  }));
}

void drain_mps(const SupervisorOrder& order, const std::vector<pid_t>& processes) {
  // Without draining the processes are killed all the same.
  static_cast<void>(as_job_user(order, [&] {
    const Result<gpu::MpsControl> control = control_of(*order.mps);
    const auto clients = control ? control->clients() : Result<std::vector<gpu::MpsClient>>();
    for (const gpu::MpsClient& client : clients.value_or(std::vector<gpu::MpsClient>{})) {
      if (std::ranges::find(processes, client.pid) != processes.end()) {
        // A client that cannot be terminated is killed afterwards all the same.
        static_cast<void>(
            control->ask(fmt::format("terminate_client {} {}", client.server, client.pid)));
      }
    }
    return std::string();
  }));
}

bool mps_failed(const SupervisorOrder& order, const MpsUse& use) {
  const auto look = [&]() -> std::string {
    const Result<gpu::MpsControl> control = control_of(*order.mps);
    if (!control) {
      return "";  // no evidence
    }
    const Result<std::vector<gpu::MpsServer>> servers = control->servers();
    const bool failed = !servers || gpu::mps_daemon_in(*control) != use.daemon ||
                        std::ranges::any_of(*servers, &gpu::MpsServer::faulted) ||
                        server_ended_since(*order.mps, use.log_bytes);
    return failed ? "failed" : "";
  };
  // A machine without processes or descriptors says nothing about MPS.
  Started<std::string> words = as_job_user(order, look);
  for (int tries = 1; !words && tries < kMostAsks; ++tries) {
    pause_for(kAskAgain);
    words = as_job_user(order, look);
  }
  return words && *words == "failed";
}

}  // namespace carpool::run
