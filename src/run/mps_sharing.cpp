#include "run/mps_sharing.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <sys/file.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/process/spawn.hpp"
#include "base/process/stop_signals.hpp"
#include "gpu/mps/mps_control.hpp"
#include "gpu/mps/mps_daemon.hpp"

namespace carpool::run {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::seconds kStopGrace{10};

Result<Descriptor> open_lock(const std::filesystem::path& file, int flags) {
  Descriptor opened(::open(file.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!opened.valid()) {
    return fail(ErrorCode::Internal,
                fmt::format("open {}: {}", file.string(), std::generic_category().message(errno)));
  }
  return opened;
}

Result<Descriptor> locked(const std::filesystem::path& file, int operation) {
  Result<Descriptor> opened = open_lock(file, O_RDWR | O_CREAT);
  while (opened && ::flock(opened->get(), operation) != 0) {
    if (errno != EINTR) {
      return fail(
          ErrorCode::Internal,
          fmt::format("lock {}: {}", file.string(), std::generic_category().message(errno)));
    }
  }
  return opened;
}

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

// Runs `work` in a process with the job's rights: a root supervisor does not use a user's pipe
// itself. Returns the exit code, or -1.
int as_job_user(const SupervisorOrder& order, const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!become_job_user(order)) {
      ::_exit(1);
    }
    default_signals();
    ::_exit(work());
  }
  int status = 0;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool answers(const SupervisorOrder& order) {
  return as_job_user(order, [&] {
           const Result<gpu::MpsControl> control = control_of(*order.mps);
           return control && control->ask("get_server_list") ? 0 : 1;
         }) == 0;
}

// Returns when the keeper is ready or has failed. The keeper holds the start lock as well: if this
// supervisor is killed meanwhile, the next one does not start a second keeper.
Result<void> start_keeper(const SupervisorOrder& order, const Descriptor& start_lock) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::Internal, "create a pipe for the keeper of an MPS daemon");
  }
  const Descriptor heard(ends[0]);
  Descriptor said(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    default_signals();
    const bool ready = ::dup2(said.get(), STDOUT_FILENO) >= 0 &&
                       ::dup2(start_lock.get(), STDIN_FILENO) >= 0 &&
                       become_job_user(order).has_value();
    if (ready) {
      const std::string folder = order.mps->folder.string();
      const std::string users = order.mps->users.string();
      ::execl("/proc/self/exe",
              "carpool",
              "guard",
              "--mps",
              order.mps->gpu_uuid.c_str(),
              folder.c_str(),
              users.c_str(),
              nullptr);
    }
    ::_exit(127);
  }
  said.reset();
  std::string answer;
  std::array<char, 512> part{};
  ssize_t got = 0;
  while ((got = ::read(heard.get(), part.data(), part.size())) > 0 || (got < 0 && errno == EINTR)) {
    answer.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  while (pid > 0 && ::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (answer != "ready") {
    return fail(ErrorCode::Internal,
                fmt::format("start MPS on {}: {}",
                            order.mps->gpu_uuid,
                            answer.empty() ? "its keeper ended without a message" : answer));
  }
  return {};
}

void tell(std::string_view words) {
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, words.data(), words.size());
}

}  // namespace

Result<Descriptor> join_mps(const SupervisorOrder& order) {
  const MpsPlace& place = *order.mps;
  // Waits while a keeper without users stops its daemon.
  Result<Descriptor> need = locked(place.users, LOCK_SH);
  if (!need) {
    return need;
  }
  const Result<Descriptor> start_lock =
      locked(fmt::format("{}.start", place.users.string()), LOCK_EX);
  if (!start_lock) {
    return tl::unexpected(start_lock.error());
  }
  if (answers(order)) {
    return need;
  }
  if (const Result<void> started = start_keeper(order, *start_lock); !started) {
    return tl::unexpected(started.error());
  }
  return need;
}

void drain_mps(const SupervisorOrder& order, const std::vector<pid_t>& processes) {
  as_job_user(order, [&] {
    const Result<gpu::MpsControl> control = control_of(*order.mps);
    const auto clients = control ? control->clients() : Result<std::vector<gpu::MpsClient>>();
    if (!clients) {
      return 1;
    }
    for (const gpu::MpsClient& client : *clients) {
      if (std::ranges::find(processes, client.pid) != processes.end()) {
        // A client that cannot be terminated is killed afterwards all the same.
        static_cast<void>(
            control->ask(fmt::format("terminate_client {} {}", client.server, client.pid)));
      }
    }
    return 0;
  });
}

bool mps_faulted(const SupervisorOrder& order) {
  constexpr int kFaulted = 42;
  return as_job_user(order, [&] {
           const Result<gpu::MpsControl> control = control_of(*order.mps);
           const auto servers =
               control ? control->servers() : Result<std::vector<gpu::MpsServer>>();
           return servers && std::ranges::any_of(*servers, &gpu::MpsServer::faulted) ? kFaulted : 0;
         }) == kFaulted;
}

int run_mps_keeper(const MpsPlace& place) {
  // To the background first: the daemon belongs to the process that stays.
  if (const pid_t pid = ::fork(); pid != 0) {
    return pid < 0 ? 1 : 0;
  }
  ::setsid();
  ::signal(SIGPIPE, SIG_IGN);  // the supervisor may end before the keeper is ready
  StopSignals signals;
  Result<Descriptor> users = open_lock(place.users, O_RDONLY);
  auto daemon = users ? gpu::MpsDaemon::start(place.gpu_uuid, place.folder)
                      : Result<std::unique_ptr<gpu::MpsDaemon>>(tl::unexpected(users.error()));
  if (!daemon) {
    tell(daemon.error().message);
    return 1;
  }
  tell("ready");
  leave_streams();  // tells the supervisor, and gives up the start lock
  while (!signals.wait_for(kLookEvery) && (*daemon)->alive()) {
    if (::flock(users->get(), LOCK_EX | LOCK_NB) == 0) {
      break;  // no user is left, and a new one waits until the daemon has stopped
    }
  }
  const Result<void> stopped = (*daemon)->stop(kStopGrace);
  return stopped ? 0 : 1;
}

}  // namespace carpool::run
