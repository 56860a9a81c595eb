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
#include "run/mps/mps_access.hpp"
#include "run/mps/mps_fault.hpp"
#include "run/mps/mps_keeper.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor/supervisor_launch.hpp"

namespace carpool::run {
namespace {

// A daemon takes up to 30 s to start, after one that takes up to 15 s to stop.
constexpr std::chrono::seconds kJoinLimit{60};

struct DaemonSeen {
  gpu::ProcessIdentity daemon{};
  bool kept = false;  // its keeper is alive
  MpsLogs logs{};
};

// "PID START KEPT LOG LOG", empty if no daemon answers.
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
  const MpsLogs logs = mps_logs(place);
  return fmt::format("{} {} {} {} {}",
                     daemon->pid,
                     daemon->start_ticks,
                     owner && *owner && gpu::is_alive(**owner) ? 1 : 0,
                     logs.control_bytes,
                     logs.server_bytes);
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
  if (fields >> seen.daemon.pid >> seen.daemon.start_ticks >> seen.kept >>
      seen.logs.control_bytes >> seen.logs.server_bytes) {
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
                                       control_log(place).string()));
  }
  use.daemon = (*seen)->daemon;
  use.logs = (*seen)->logs;
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

}  // namespace carpool::run
