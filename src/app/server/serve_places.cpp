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

namespace {

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

Result<ServePlaces> make_places(const ServeOptions& options) {
  ServePlaces places;
  if (options.system) {
    if (::geteuid() != 0) {
      return invalid_input(
          "--system needs root; without --system the server runs for its own user only");
    }
    places.state = options.state.value_or(kSystemState);
    places.socket = options.server.socket.value_or(kSystemSocket);
    places.runtime = places.socket.parent_path();
  } else {
    const Result<std::filesystem::path> state =
        options.state ? Result<std::filesystem::path>(*options.state) : personal_state();
    if (!state) {
      return tl::unexpected(state.error());
    }
    places.state = *state;
    places.runtime = runtime_folder();
    places.socket = server_socket({.socket = options.server.socket});
    if (places.socket == kSystemSocket) {
      places.socket = personal_socket();
    }
  }
  std::error_code ignored;
  places.state = std::filesystem::absolute(places.state, ignored);
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
