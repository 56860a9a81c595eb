#include "profile/watch/scratch.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/files/runtime_folder.hpp"
#include "gpu/mps/mps_daemon.hpp"

namespace carpool::profile {
namespace {

constexpr std::string_view kPrefix = "scratch-";

// Another user may have made the folder, or a link in its place.
Result<void> own(const std::filesystem::path& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(
        ErrorCode::Internal,
        fmt::format(
            "cannot make folder {}: {}", folder.string(), std::generic_category().message(errno)));
  }
  struct stat status{};
  const bool known = lstat(folder.c_str(), &status) == 0;
  if (!known || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
      (status.st_mode & 077U) != 0) {
    return fail(
        ErrorCode::Internal,
        fmt::format("{} is not a folder of this user with mode 0700; remove it", folder.string()));
  }
  return {};
}

// Removes the folders of processes that have ended.
void clear_leftovers(const std::filesystem::path& root) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) {
      continue;
    }
    pid_t pid = 0;
    const char* end = name.data() + name.size();
    const auto [stopped, code] = std::from_chars(name.data() + kPrefix.size(), end, pid);
    if (code == std::errc() && stopped == end && kill(pid, 0) != 0 && errno == ESRCH) {
      std::filesystem::remove_all(entry.path(), ignored);
    }
  }
  static_cast<void>(gpu::sweep_dead_daemons(root));
}

}  // namespace

Result<ScratchFolder> ScratchFolder::make() {
  const std::filesystem::path root = runtime_folder();
  if (auto ours = own(root); !ours) {
    return tl::unexpected(ours.error());
  }
  clear_leftovers(root);
  std::filesystem::path path = root / fmt::format("{}{}", kPrefix, getpid());
  std::error_code problem;
  std::filesystem::remove_all(path, problem);  // left by an earlier process with the same PID
  if (!std::filesystem::create_directory(path, problem)) {
    return fail(ErrorCode::Internal,
                fmt::format("cannot make folder {}: {}", path.string(), problem.message()));
  }
  return ScratchFolder(std::move(path));
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

ScratchFolder::~ScratchFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

std::filesystem::path ScratchFolder::mps_folder() const {
  return path_.parent_path() / fmt::format("mps-{}", getpid());
}

}  // namespace carpool::profile
