#include "app/doctor/doctor_server.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/doctor/doctor_checks.hpp"
#include "app/server/gpu_lock.hpp"
#include "app/server/serve_places.hpp"
#include "app/server/server_client.hpp"
#include "app/server/socket_access.hpp"
#include "base/files/runtime_folder.hpp"

namespace carpool::app {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPrivateFolder = 0700;
constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kSocketFolder = 0711;

void add_if_loose(std::vector<LoosePath>& found, const fs::path& path, mode_t most) {
  struct stat status{};
  constexpr mode_t kBits = 07777;
  if (::lstat(path.c_str(), &status) == 0 && !S_ISLNK(status.st_mode) &&
      (status.st_mode & kBits & ~most) != 0) {
    found.push_back({.path = path, .mode = status.st_mode & kBits, .most = most});
  }
}

void look_at_gpu(ServerFacts& facts, const std::string& uuid) {
  if (const auto holder = gpu_holder(uuid)) {
    facts.managed.push_back({.uuid = uuid,
                             .holder = spoken_holder(*holder),
                             .usable = holder->system || holder->uid == ::geteuid()});
  }
}

DoctorCheck check_managers(const ServerFacts& facts) {
  DoctorCheck check = start_check("server");
  check.found = facts.managed.empty() ? "none manages the GPUs" : "";
  for (const ManagedGpu& gpu : facts.managed) {
    check.found += fmt::format("{}{}: {}", check.found.empty() ? "" : "; ", gpu.uuid, gpu.holder);
    if (!gpu.usable) {
      check.state = CheckState::Degraded;
      check.advice =
          "a personal server of another user keeps yours from starting: ask its owner to stop it, "
          "or "
          "an administrator to serve all users with `carpool serve --system`";
    }
  }
  return check;
}

DoctorCheck check_access(const ServerFacts& facts) {
  DoctorCheck check = start_check("access to the server");
  check.found = fmt::format(
      "{}{}", facts.socket.string(), facts.socket_exists ? "" : ": no server listens there");
  if (!facts.no_access.empty()) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("{}: not permitted", facts.socket.string());
    check.advice = facts.no_access;
  }
  return check;
}

DoctorCheck check_permissions(const ServerFacts& facts) {
  DoctorCheck check = start_check("permissions");
  check.found = facts.states.empty()
                    ? "no folder with a queue yet"
                    : "only its owner reads the queue and the environments of jobs";
  std::vector<std::string> found;
  std::vector<std::string> commands;
  for (const LoosePath& loose : facts.loose) {
    found.push_back(fmt::format("{} has mode {:04o}", loose.path.string(), loose.mode));
    commands.push_back(fmt::format("chmod {:o} {}", loose.mode & loose.most, loose.path.string()));
  }
  if (!found.empty()) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("{}", fmt::join(found, "; "));
    check.advice = fmt::format("other users may read the commands and environments of jobs: {}",
                               fmt::join(commands, "; "));
  }
  return check;
}

}  // namespace

std::vector<LoosePath> loose_paths(const fs::path& state) {
  std::vector<LoosePath> found;
  add_if_loose(found, state, kPrivateFolder);
  std::error_code ignored;
  for (fs::directory_iterator i(state, ignored), end; i != end; i.increment(ignored)) {
    // Outputs of jobs are below runs, where the folder above keeps other users out.
    std::error_code unknown;
    add_if_loose(found,
                 i->path(),
                 fs::is_directory(i->symlink_status(unknown)) ? kSocketFolder : kPrivateFile);
  }
  return found;
}

ServerFacts look_at_servers(const std::vector<GpuInfo>& gpus) {
  ServerFacts facts;
  for (const GpuInfo& gpu : gpus) {
    if (!gpu.mig_enabled) {
      look_at_gpu(facts, gpu.uuid);
    }
    for (const MigSlice& slice : gpu.mig) {
      look_at_gpu(facts, slice.uuid);
    }
  }
  facts.socket = server_socket({});
  std::error_code ignored;
  facts.socket_exists = fs::exists(facts.socket, ignored);
  if (const auto problem = access_problem(facts.socket)) {
    facts.no_access = problem->message;
  }
  for (const auto& [system, kind] : {std::pair(true, StateKind::Real),
                                     std::pair(true, StateKind::Simulated),
                                     std::pair(false, StateKind::Real),
                                     std::pair(false, StateKind::Simulated)}) {
    const Result<fs::path> state = state_folder(system, {}, kind);
    if (state && fs::is_directory(*state, ignored)) {
      facts.states.push_back(*state);
      const std::vector<LoosePath> loose = loose_paths(*state);
      facts.loose.insert(facts.loose.end(), loose.begin(), loose.end());
    }
  }
  add_if_loose(facts.loose, runtime_folder(), kSocketFolder);
  add_if_loose(facts.loose, fs::path(kSystemSocket).parent_path(), kSocketFolder);
  return facts;
}

std::vector<DoctorCheck> doctor_server_checks(const ServerFacts& facts) {
  return {check_managers(facts), check_access(facts), check_permissions(facts)};
}

}  // namespace carpool::app
