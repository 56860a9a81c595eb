#include "app/server/serve_places.hpp"

#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "app/server/server_client.hpp"
#include "base/files/runtime_folder.hpp"

namespace carpool::app {
namespace {

Result<std::filesystem::path> personal_state() {
  if (const char* xdg = std::getenv("XDG_STATE_HOME"); xdg != nullptr && *xdg == '/') {
    return std::filesystem::path(xdg) / "carpool";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') {
    return invalid_input(
        "neither HOME nor XDG_STATE_HOME is set; name a folder for the queue with --state");
  }
  return std::filesystem::path(home) / ".local" / "state" / "carpool";
}

Result<void> make_private_folder(const std::filesystem::path& folder, mode_t mode) {
  std::error_code error;
  std::filesystem::create_directories(folder.parent_path(), error);
  if (::mkdir(folder.c_str(), mode) != 0 && errno != EEXIST) {
    return fail(ErrorCode::Internal, fmt::format("create {}: {}", folder.string(), last_error()));
  }
  struct stat status{};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid()) {
    return invalid_input(
        fmt::format("{} is not a folder of user {}", folder.string(), ::geteuid()));
  }
  return {};
}

}  // namespace

Result<std::filesystem::path> state_folder(bool system,
                                           const std::optional<std::string>& named,
                                           StateKind kind) {
  std::error_code ignored;
  if (named) {
    return std::filesystem::absolute(*named, ignored);
  }
  Result<std::filesystem::path> folder =
      system ? Result<std::filesystem::path>("/var/lib/carpool") : personal_state();
  return folder && kind == StateKind::Simulated ? simulated_beside(*folder) : folder;
}

std::filesystem::path simulated_beside(std::filesystem::path state) {
  return state += "-simulated";
}

Result<ServePlaces> make_places(const ServeOptions& options) {
  ServePlaces places;
  if (options.system) {
    if (::geteuid() != 0) {
      return invalid_input(
          "--system needs root; without --system the server runs for its own user only");
    }
    places.socket = options.server.socket.value_or(kSystemSocket);
    places.runtime = places.socket.parent_path();
  } else {
    places.runtime = runtime_folder();
    places.socket = server_socket({.socket = options.server.socket});
    if (places.socket == kSystemSocket) {
      places.socket = personal_socket();
    }
  }
  const auto state = state_folder(
      options.system, options.state, options.simulated ? StateKind::Simulated : StateKind::Real);
  if (!state) {
    return tl::unexpected(state.error());
  }
  places.state = *state;
  constexpr mode_t kOwn = 0700;
  constexpr mode_t kPassable = 0711;  // to the socket
  Result<void> made = make_private_folder(places.state, kOwn);
  if (made) {
    made = make_private_folder(places.runtime, options.system ? kPassable : kOwn);
  }
  if (!made) {
    return tl::unexpected(made.error());
  }
  return places;
}

}  // namespace carpool::app
