#include "gpu/mps/mps_folder.hpp"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "gpu/mps/mps_parse.hpp"

namespace carpool::gpu {
namespace {

constexpr std::string_view kOwnerFile = "carpool-owner";

// The kernel limits socket paths to 107 bytes; the rest is for longer names in later drivers.
constexpr std::size_t kMostPathBytes = 100;
constexpr std::string_view kLongestSocket = "pipe/control_privileged";

tl::unexpected<Error> refused(std::string_view what, const std::filesystem::path& path, int code) {
  return fail(ErrorCode::Internal,
              fmt::format("{} {}: {}", what, path.string(), std::generic_category().message(code)));
}

Result<void> make_private(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return refused("make the folder", folder, errno);
  }
  return {};
}

// Any other file shows that the folder has another purpose.
Result<void> holds_only_ours(const std::filesystem::path& root) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    const std::string name = entry.path().filename().string();
    if (name != "pipe" && name != "log" && name != kOwnerFile) {
      return invalid_input(
          fmt::format("{} holds {}, so it is not the folder of an MPS daemon of Carpool; name an "
                      "empty or a new one",
                      root.string(),
                      name));
    }
  }
  if (error) {
    return refused("look into", root, error.value());
  }
  return {};
}

}  // namespace

std::optional<ProcessIdentity> parse_owner(std::string_view content) {
  ProcessIdentity owner;
  const char* const begin = content.data();
  const char* const end = begin + content.size();
  const auto [after_pid, pid_error] = std::from_chars(begin, end, owner.pid);
  if (pid_error != std::errc{} || after_pid == end || *after_pid != ' ' || owner.pid <= 0) {
    return std::nullopt;
  }
  const auto [after_start, start_error] = std::from_chars(after_pid + 1, end, owner.start_ticks);
  if (start_error != std::errc{} || after_start == end || *after_start != '\n') {
    return std::nullopt;
  }
  return owner;
}

Result<MpsFolder> MpsFolder::at(const std::filesystem::path& root) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(root, error).lexically_normal();
  if (root.empty() || error) {
    return invalid_input("an MPS daemon needs a folder for its pipe");
  }
  if (!absolute.has_filename()) {  // "folder/"
    absolute = absolute.parent_path();
  }
  const std::size_t most = kMostPathBytes - kLongestSocket.size() - 1;
  if (absolute.native().size() > most) {
    return invalid_input(
        fmt::format("{} has {} bytes; the path of an MPS daemon's folder may have {} because it "
                    "holds sockets; name a shorter one",
                    absolute.string(),
                    absolute.native().size(),
                    most));
  }
  return MpsFolder(std::move(absolute));
}

Result<void> MpsFolder::make() const {
  std::error_code error;
  std::filesystem::create_directories(root_.parent_path(), error);
  if (error) {
    return refused("make the folder", root_.parent_path(), error.value());
  }
  if (const Result<void> made = make_private(root_); !made) {
    return made;
  }
  if (const Result<void> ours = check(); !ours) {
    return ours;
  }
  if (::chmod(root_.c_str(), 0700) != 0) {
    return refused("set the mode of", root_, errno);
  }
  return {};
}

Result<void> MpsFolder::check() const {
  struct stat status = {};
  if (::lstat(root_.c_str(), &status) != 0) {
    return refused("inspect", root_, errno);
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) {
    return invalid_input(
        fmt::format("cannot start an MPS daemon in {}: it is {}; name another folder",
                    root_.string(),
                    S_ISDIR(status.st_mode) ? "another user's folder" : "not a folder"));
  }
  return holds_only_ours(root_);
}

Result<Descriptor> MpsFolder::lock() const {
  Descriptor folder(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid() && errno != ENOENT) {
    return refused("open", root_, errno);
  }
  while (folder.valid() && ::flock(folder.get(), LOCK_EX) != 0) {
    if (errno != EINTR) {
      return refused("lock", root_, errno);
    }
  }
  struct stat locked = {};
  struct stat now = {};
  if (!folder.valid() || ::fstat(folder.get(), &locked) != 0 || ::lstat(root_.c_str(), &now) != 0 ||
      locked.st_ino != now.st_ino || locked.st_dev != now.st_dev) {
    return conflict(fmt::format("{} was removed by its owner; try again", root_.string()));
  }
  return folder;
}

Result<std::optional<ProcessIdentity>> MpsFolder::owner() const {
  const std::filesystem::path file = root_ / kOwnerFile;
  const Result<std::string> content = read_file(file);
  if (!content && content.error().code == ErrorCode::NotFound) {
    return std::nullopt;
  }
  if (!content) {
    return tl::unexpected(content.error());
  }
  const std::optional<ProcessIdentity> owner = parse_owner(*content);
  if (!owner) {
    return invalid_input(
        fmt::format("{} does not name a process; remove it if no MPS daemon runs in this folder",
                    file.string()));
  }
  return owner;
}

Result<void> MpsFolder::claim() const {
  const std::optional<ProcessIdentity> self = identify(::getpid());
  if (!self) {
    return fail(ErrorCode::Unsupported, "/proc does not show this process; is /proc mounted?");
  }
  const std::string line = fmt::format("{} {}\n", self->pid, self->start_ticks);
  return write_file(root_ / kOwnerFile, line)
      .and_then([this] { return make_private(pipe()); })
      .and_then([this] { return make_private(log()); });
}

std::optional<pid_t> MpsFolder::daemon_pid() const {
  const Result<std::string> content = read_file(pipe() / "nvidia-cuda-mps-control.pid");
  return content ? parse_mps_pid_file(*content) : std::nullopt;
}

void MpsFolder::empty(Logs logs) const {
  std::error_code ignored;
  std::filesystem::remove_all(pipe(), ignored);
  if (logs == Logs::Remove) {
    std::filesystem::remove_all(log(), ignored);
  }
  std::filesystem::remove(root_ / kOwnerFile, ignored);  // last: until then the folder is claimed
}

void MpsFolder::remove(Logs logs) const {
  empty(logs);
  std::error_code ignored;
  std::filesystem::remove(root_, ignored);  // fails if it is not empty
}

}  // namespace carpool::gpu
