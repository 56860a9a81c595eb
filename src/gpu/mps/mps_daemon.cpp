#include "gpu/mps/mps_daemon.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/log.hpp"
#include "gpu/mps/mps_control.hpp"
#include "gpu/mps/mps_ending.hpp"
#include "gpu/mps/mps_environment.hpp"
#include "gpu/mps/mps_folder.hpp"
#include "gpu/mps/mps_parse.hpp"

namespace carpool::gpu {
namespace {

constexpr double kReadyLimitS = 10.0;
constexpr std::chrono::milliseconds kLookEvery{5};
constexpr double kDeadForS = 0.25;  // a daemon that may still hand over to a child
constexpr std::chrono::milliseconds kDestructorGrace{2000};

// The UUID goes into an environment variable: "0" would depend on the order of GPUs, and a comma
// would add a second GPU.
Result<void> check_uuid(const std::string& uuid) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  if ((uuid.starts_with("GPU-") || uuid.starts_with("MIG-")) && std::ranges::all_of(uuid, fits)) {
    return {};
  }
  return invalid_input(
      fmt::format("\"{}\" is not the UUID of a GPU, such as GPU-01234567-89ab-…", uuid));
}

// The pid file names a process that is gone. The folder was empty before, so the file is of the
// daemon that was just started.
bool has_died(const MpsFolder& folder) {
  const std::optional<pid_t> pid = folder.daemon_pid();
  return pid && !identify(*pid);
}

// The daemon goes to the background before its pid file and socket exist.
Result<ProcessIdentity> await_daemon(const MpsControl& control) {
  const Stopwatch waited;
  std::optional<Stopwatch> dead;
  const std::string folder = control.folder().root().string();
  while (true) {
    const std::optional<ProcessIdentity> daemon = mps_daemon_in(control);
    const Result<std::string> answer =
        daemon ? control.ask("get_server_list")
               : fail(ErrorCode::NotFound, "its pid file does not name its process");
    if (answer) {
      return *daemon;
    }
    if (!has_died(control.folder())) {
      dead.reset();
    } else if (!dead) {
      dead.emplace();
    } else if (dead->seconds() > kDeadForS) {
      return fail(ErrorCode::Internal,
                  fmt::format("the MPS control daemon in {} ended as soon as it was started; "
                              "`carpool doctor` checks what MPS needs on this machine",
                              folder));
    }
    if (waited.seconds() > kReadyLimitS) {
      if (daemon) {
        const Result<void> ended = end_mps_daemon(control, *daemon, kDestructorGrace);
        log_debug(ended ? "" : ended.error().message);
      }
      return fail(ErrorCode::Internal,
                  fmt::format("the MPS control daemon in {} was started but does not answer: {}",
                              folder,
                              answer.error().message));
    }
    pause_for(kLookEvery);
  }
}

// Claims the folder and starts a daemon in it, or leaves it free.
Result<ProcessIdentity> start_in(const MpsControl& control, const std::string& gpu_uuid) {
  const MpsFolder& folder = control.folder();
  if (const Result<void> made = folder.make(); !made) {
    return tl::unexpected(made.error());
  }
  const Result<Descriptor> lock = folder.lock();
  if (!lock) {
    return tl::unexpected(lock.error());
  }
  if (const Result<void> taken = take_over(control); !taken) {
    return tl::unexpected(taken.error());
  }
  Result<ProcessIdentity> daemon =
      folder.claim().and_then([&] { return control.start(gpu_uuid); }).and_then([&] {
        return await_daemon(control);
      });
  if (!daemon) {
    folder.remove(MpsFolder::Logs::Remove);
  }
  return daemon;
}

// Claims the folder and the daemon in it that a dead process left.
Result<ProcessIdentity> adopt_in(const MpsControl& control, const std::string& gpu_uuid) {
  const MpsFolder& folder = control.folder();
  if (const Result<void> ours = folder.check(); !ours) {
    return tl::unexpected(ours.error());
  }
  const Result<Descriptor> lock = folder.lock();
  const Result<std::optional<ProcessIdentity>> owner =
      lock ? folder.owner() : tl::unexpected(lock.error());
  if (!owner) {
    return tl::unexpected(owner.error());
  }
  const std::optional<ProcessIdentity> daemon = mps_daemon_in(control);
  const bool orphaned = *owner && !is_alive(**owner) && daemon &&
                        runs_with(daemon->pid, control.program(), "CUDA_VISIBLE_DEVICES", gpu_uuid);
  if (!orphaned || !control.ask("get_server_list")) {
    return not_found(
        fmt::format("no MPS daemon for GPU {} was left in {}", gpu_uuid, folder.root().string()));
  }
  return folder.claim().map([&] { return *daemon; });
}

}  // namespace

struct MpsDaemon::State {
  MpsAbilities abilities;
  MpsControl control;
  std::string gpu_uuid;
  std::filesystem::path pipe;
  std::filesystem::path log;
  ProcessIdentity daemon;
  bool stopped = false;
};

MpsDaemon::MpsDaemon(std::unique_ptr<State> state) : state_(std::move(state)) {}

MpsDaemon::~MpsDaemon() {
  if (const Result<void> stopped = stop(kDestructorGrace); !stopped) {
    log_warning(stopped.error().message);
  }
}

Result<std::unique_ptr<MpsDaemon>> MpsDaemon::start(const std::string& gpu_uuid,
                                                    const std::filesystem::path& folder) {
  return obtain(gpu_uuid, folder, start_in);
}

Result<std::unique_ptr<MpsDaemon>> MpsDaemon::adopt(const std::string& gpu_uuid,
                                                    const std::filesystem::path& folder) {
  return obtain(gpu_uuid, folder, adopt_in);
}

Result<std::unique_ptr<MpsDaemon>> MpsDaemon::obtain(const std::string& gpu_uuid,
                                                     const std::filesystem::path& folder,
                                                     Obtain* daemon_in) {
  if (const Result<void> checked = check_uuid(gpu_uuid); !checked) {
    return tl::unexpected(checked.error());
  }
  Result<MpsFolder> place = MpsFolder::at(folder);
  if (!place) {
    return tl::unexpected(place.error());
  }
  Result<MpsAbilities> abilities = probe_mps();
  if (!abilities) {
    return tl::unexpected(abilities.error());
  }
  const MpsControl control(abilities->program, *place);
  const Result<ProcessIdentity> daemon = daemon_in(control, gpu_uuid);
  if (!daemon) {
    return tl::unexpected(daemon.error());
  }
  auto state = std::make_unique<State>(
      State{std::move(*abilities), control, gpu_uuid, place->pipe(), place->log(), *daemon, false});
  return std::unique_ptr<MpsDaemon>(new MpsDaemon(std::move(state)));
}

std::map<std::string, std::string> MpsDaemon::client_environment(
    const MpsClientLimits& limits) const {
  return mps_client_environment(state_->pipe, state_->log, state_->gpu_uuid, limits);
}

Result<std::vector<MpsServer>> MpsDaemon::servers() {
  return state_->control.servers();
}

Result<std::vector<MpsClient>> MpsDaemon::clients() {
  return state_->control.clients();
}

Result<void> MpsDaemon::terminate_client(const MpsClient& client) {
  if (!state_->abilities.terminate_client) {
    return fail(ErrorCode::Unsupported,
                fmt::format("{} has no terminate_client: this driver cannot end one MPS client "
                            "without affecting the others; wait until client {} ends",
                            state_->abilities.program.string(),
                            client.pid));
  }
  return state_->control.ask(fmt::format("terminate_client {} {}", client.server, client.pid))
      .and_then(parse_mps_termination)
      .map_error([&](Error error) {
        error.message = fmt::format(
            "terminate client {} of MPS server {}: {}", client.pid, client.server, error.message);
        return error;
      });
}

Result<void> MpsDaemon::stop(std::chrono::milliseconds grace) {
  if (std::exchange(state_->stopped, true)) {
    return {};
  }
  Result<void> ended = end_mps_daemon(state_->control, state_->daemon, grace);
  // The folder may belong to the next daemon by now.
  const MpsFolder& folder = state_->control.folder();
  const Result<Descriptor> lock = folder.lock();
  const Result<std::optional<ProcessIdentity>> owner = folder.owner();
  if (lock && owner && *owner == identify(::getpid())) {
    folder.remove(ended ? MpsFolder::Logs::Remove : MpsFolder::Logs::Keep);
  }
  return ended;
}

void MpsDaemon::leave_running() {
  state_->stopped = true;
}

bool MpsDaemon::alive() {
  return is_alive(state_->daemon);
}

const std::filesystem::path& MpsDaemon::pipe_folder() const {
  return state_->pipe;
}

const std::filesystem::path& MpsDaemon::log_folder() const {
  return state_->log;
}

}  // namespace carpool::gpu
