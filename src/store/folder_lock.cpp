#include "store/folder_lock.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "store/state_files.hpp"

namespace carpool::store {
namespace {

tl::unexpected<Error> lock_error(const std::filesystem::path& path, std::string_view what) {
  return fail(
      ErrorCode::Internal,
      fmt::format("{}: {}: {}", path.string(), what, std::generic_category().message(errno)));
}

std::string holder(int file) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  std::string pid(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!pid.empty() && pid.back() == '\n') {
    pid.pop_back();
  }
  return pid.empty() ? std::string("unknown") : pid;
}

}  // namespace

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kLockName;
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    return lock_error(path, "cannot be opened");
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return lock_error(path, "cannot be locked");
    }
    return conflict(
        fmt::format("{}: another server (process {}) uses this folder; stop it, or choose "
                    "another folder",
                    folder.string(),
                    holder(file.get())));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return lock_error(path, "cannot be written");
  }
  return FolderLock(std::move(file));
}

bool FolderLock::is_held(const std::filesystem::path& folder) {
  const Descriptor file(::open((folder / kLockName).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file.valid() && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0;
}

}  // namespace carpool::store
