#include "app/server/shim/shim_place.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "app/launch/shim_environment.hpp"
#include "interpose/state/state_folder.hpp"

namespace carpool::app {
namespace {

// Users pass through it to their own folder, and cannot list it.
Result<void> make_users_folder(const std::filesystem::path& folder) {
  constexpr mode_t kPassable = 0711;
  if ((::mkdir(folder.c_str(), kPassable) != 0 && errno != EEXIST) ||
      ::chmod(folder.c_str(), kPassable) != 0) {
    return fail(ErrorCode::Internal, fmt::format("make {}: {}", folder.string(), last_error()));
  }
  return {};
}

}  // namespace

std::filesystem::path ShimPlace::state_of(uid_t uid) const {
  if (!folder.empty()) {
    return folder / std::to_string(uid);
  }
  interpose::PathBuffer path{};
  return interpose::default_state_folder(path) ? std::filesystem::path(path.data())
                                               : std::filesystem::path();
}

Result<ShimPlace> find_shim(const ServeOptions& options, const ServePlaces& places) {
  const Result<std::filesystem::path> library = find_shim_library();
  if (!library) {
    return tl::unexpected(library.error());
  }
  const Result<std::string> driver = find_driver(*library);
  if (!driver) {
    return tl::unexpected(driver.error());
  }
  ShimPlace place{.library = *library, .driver = *driver};
  if (options.system) {
    place.folder = places.shim();
    if (const Result<void> made = make_users_folder(place.folder); !made) {
      return tl::unexpected(made.error());
    }
  }
  return place;
}

uid_t user_of(const JobOwner& owner) {
  return ::geteuid() == 0 ? owner.uid : ::geteuid();
}

}  // namespace carpool::app
