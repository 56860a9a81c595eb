#include "store/private_files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/log.hpp"
#include "store/state_files.hpp"

namespace carpool::store {
namespace {

constexpr mode_t kOthers = 077;

struct PrivatePlace {
  std::filesystem::path path;
  bool folder = false;
  struct stat status{};
};

// The journal and what must be beside it; other files are those that parts of the server keep here.
bool needed(const std::string& name) {
  return name.starts_with(kJournalName) || name == kLockName || name == kMarkerName;
}

bool own_file(const std::filesystem::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == ::geteuid();
}

// Those that exist: the folder first, because the others are safe once it is.
std::vector<PrivatePlace> existing_places(const std::filesystem::path& state) {
  std::vector<PrivatePlace> found;
  const auto look_at = [&](const std::filesystem::path& path, bool folder) {
    PrivatePlace place{.path = path, .folder = folder};
    if (::lstat(path.c_str(), &place.status) == 0) {
      found.push_back(std::move(place));
    }
  };
  look_at(state, /*folder=*/true);
  look_at(runs_folder(state), /*folder=*/true);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(state, ignored)) {
    if (needed(entry.path().filename().string()) || own_file(entry.path())) {
      look_at(entry.path(), /*folder=*/false);
    }
  }
  return found;
}

bool is_loose(const PrivatePlace& place) {
  return !S_ISLNK(place.status.st_mode) && (place.status.st_mode & kOthers) != 0;
}

// The files beside the journal may be scripts of the owner, who keeps what the owner may do.
mode_t private_mode(const PrivatePlace& place) {
  if (place.folder) {
    return 0700;
  }
  return needed(place.path.filename().string()) ? 0600 : place.status.st_mode & 07777U & ~kOthers;
}

std::string loose_line(const PrivatePlace& place) {
  return fmt::format("{} has mode {:04o}; other users may {} it",
                     place.path.string(),
                     place.status.st_mode & 07777U,
                     place.folder ? "enter" : "read");
}

}  // namespace

Result<void> tighten_modes(const std::filesystem::path& state) {
  for (const PrivatePlace& place : existing_places(state)) {
    const bool right_kind =
        place.folder ? S_ISDIR(place.status.st_mode) : S_ISREG(place.status.st_mode);
    if (!right_kind || place.status.st_uid != ::geteuid()) {
      return invalid_input(fmt::format("{} is not a {} of user {}; move it away",
                                       place.path.string(),
                                       place.folder ? "folder" : "regular file",
                                       ::geteuid()));
    }
    if (!is_loose(place)) {
      continue;
    }
    const mode_t wanted = private_mode(place);
    if (::chmod(place.path.c_str(), wanted) != 0) {
      return fail(ErrorCode::Internal,
                  fmt::format("{}: its mode cannot be changed to {:04o}: {}",
                              place.path.string(),
                              wanted,
                              last_error()));
    }
    log_warning(fmt::format("{}; the mode is now {:04o}", loose_line(place), wanted));
  }
  return {};
}

Result<Descriptor> open_private(const std::filesystem::path& file) {
  Descriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!opened.valid() || ::fchmod(opened.get(), 0600) != 0) {
    return fail(ErrorCode::Internal,
                fmt::format("{}: cannot be created: {}", file.string(), last_error()));
  }
  return opened;
}

void sync_folder(const std::filesystem::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.valid()) {
    ::fsync(opened.get());
  }
}

}  // namespace carpool::store
