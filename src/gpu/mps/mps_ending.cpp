#include "gpu/mps/mps_ending.hpp"

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace carpool::gpu {
namespace {

constexpr std::chrono::milliseconds kCheckEvery{5};
constexpr std::chrono::milliseconds kLeftoverGrace{2000};
constexpr std::chrono::milliseconds kAfterKill{2000};
constexpr std::chrono::milliseconds kShortestPatience{500};

bool gone_within(const ProcessIdentity& process, std::chrono::milliseconds limit) {
  const std::int64_t deadline = monotonic_ns() + std::chrono::nanoseconds(limit).count();
  while (is_alive(process)) {
    if (monotonic_ns() >= deadline) {
      return false;
    }
    pause_for(kCheckEvery);
  }
  return true;
}

// A plain "quit" waits for clients without limit.
std::string quit_command(bool has_clients, std::chrono::milliseconds grace) {
  const auto seconds = std::max<std::int64_t>(1, (grace.count() + 999) / 1000);
  return has_clients ? fmt::format("quit -t {}", seconds) : "quit";
}

std::vector<ProcessIdentity> identities(const std::vector<MpsServer>& servers) {
  std::vector<ProcessIdentity> found;
  for (const MpsServer& server : servers) {
    if (const auto process = identify(server.pid)) {
      found.push_back(*process);
    }
  }
  return found;
}

void end_leftover(const MpsControl& control, pid_t owner) {
  const std::optional<ProcessIdentity> daemon = mps_daemon_in(control);
  if (!daemon) {
    return;
  }
  log_info(fmt::format("ending MPS daemon {} in {}, left by process {}",
                       daemon->pid,
                       control.folder().root().string(),
                       owner));
  if (const auto ended = end_mps_daemon(control, *daemon, kLeftoverGrace); !ended) {
    log_warning(ended.error().message);
  }
}

}  // namespace

Result<void> end_mps_daemon(const MpsControl& control,
                            const ProcessIdentity& daemon,
                            std::chrono::milliseconds grace) {
  if (!is_alive(daemon)) {
    return {};
  }
  // Without an answer the daemon hangs, and its clients are unknown.
  const auto patience = std::clamp(grace, kShortestPatience, kMpsAnswerLimit);
  const Result<std::vector<MpsServer>> servers =
      control.ask("get_server_list", patience).and_then([&](const std::string&) {
        return control.servers();
      });
  const std::vector<ProcessIdentity> server_processes =
      servers ? identities(*servers) : std::vector<ProcessIdentity>{};
  const Result<std::vector<MpsClient>> clients =
      servers ? control.clients() : tl::unexpected(servers.error());
  if (clients) {
    const auto limit = std::max(grace, std::chrono::milliseconds(1000)) + kAfterKill;
    if (const auto quit = control.ask(quit_command(!clients->empty(), grace), limit); !quit) {
      log_debug(quit.error().message);
    }
  }
  const bool quitted = clients && gone_within(daemon, grace);
  if (!quitted) {
    send_signal(daemon, SIGKILL);
    gone_within(daemon, kAfterKill);
  }
  // A server survives a killed daemon and keeps GPU memory.
  for (const ProcessIdentity& server : server_processes) {
    if (!gone_within(server, quitted ? grace : kCheckEvery)) {
      send_signal(server, SIGKILL);
    }
  }
  if (clients && !clients->empty()) {
    std::vector<pid_t> pids;
    std::ranges::transform(*clients, std::back_inserter(pids), &MpsClient::pid);
    return fail(ErrorCode::Internal,
                fmt::format("stop the MPS daemon in {}: it still had the client{} {}, whose GPU "
                            "work is lost; end clients before the daemon",
                            control.folder().root().string(),
                            pids.size() == 1 ? "" : "s",
                            fmt::join(pids, ", ")));
  }
  if (!quitted) {
    return fail(ErrorCode::Internal,
                fmt::format("stop the MPS daemon in {}: process {} did not quit within {} ms and "
                            "was killed; see {}",
                            control.folder().root().string(),
                            daemon.pid,
                            grace.count(),
                            (control.folder().log() / "control.log").string()));
  }
  return {};
}

std::optional<ProcessIdentity> mps_daemon_in(const MpsControl& control) {
  const std::optional<pid_t> pid = control.folder().daemon_pid();
  const std::optional<ProcessIdentity> process = pid ? identify(*pid) : std::nullopt;
  if (!process ||
      !runs_with(
          *pid, control.program(), "CUDA_MPS_PIPE_DIRECTORY", control.folder().pipe().string())) {
    return std::nullopt;
  }
  return process;
}

Result<void> take_over(const MpsControl& control) {
  const MpsFolder& folder = control.folder();
  const Result<std::optional<ProcessIdentity>> owner = folder.owner();
  if (!owner) {
    return tl::unexpected(owner.error());
  }
  if (*owner && is_alive(**owner)) {
    return conflict(
        fmt::format("{} belongs to process {}, which runs an MPS daemon there; "
                    "name another folder",
                    folder.root().string(),
                    (*owner)->pid));
  }
  if (*owner) {
    end_leftover(control, (*owner)->pid);
  } else if (const auto pid = folder.daemon_pid(); pid && identify(*pid)) {
    return invalid_input(
        fmt::format("{} is the folder of an MPS daemon that Carpool did not start (process "
                    "{}); name another one",
                    folder.root().string(),
                    *pid));
  }
  // A daemon that answers now was started by another program.
  const Result<std::string> answer = control.ask("get_server_list");
  if (answer || answer.error().code != ErrorCode::NotFound) {
    return invalid_input(
        fmt::format("an MPS daemon that Carpool did not start {} in {}; name another folder",
                    answer ? "answers" : "may run",
                    folder.root().string()));
  }
  folder.empty(MpsFolder::Logs::Remove);
  return {};
}

}  // namespace carpool::gpu
