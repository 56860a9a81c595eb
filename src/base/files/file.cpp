#include "base/files/file.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/process/descriptor.hpp"

namespace carpool {
namespace {

tl::unexpected<Error> system_failure(std::string_view what, const std::filesystem::path& path) {
  const int code = errno;
  return fail(code == ENOENT ? ErrorCode::NotFound : ErrorCode::Internal,
              fmt::format("{} {}: {}", what, path.string(), std::generic_category().message(code)));
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A new file with a name of its own. Unlike mkstemp() this leaves the mode to the umask of the
// process, which cannot be read without changing it for all threads.
Descriptor create_beside(const std::filesystem::path& path, mode_t mode, std::string& name) {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    std::uint32_t random = 0;
    if (::getrandom(&random, sizeof random, 0) < 0) {
      break;
    }
    name = fmt::format("{}.{:06x}", path.string(), random & 0xffffffU);
    const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file >= 0 || errno != EEXIST) {
      return Descriptor(file);
    }
  }
  return {};
}

Result<void> write_with_mode(const std::filesystem::path& named,
                             std::string_view content,
                             mode_t mode) {
  if (named.empty()) {
    return invalid_input("the file name is empty");
  }
  // What a link points to is replaced, not the link.
  std::error_code unresolved;
  std::filesystem::path path = std::filesystem::canonical(named, unresolved);
  if (unresolved) {
    path = named;
  }
  struct stat existing = {};
  if (::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
    return fail(ErrorCode::Internal,
                fmt::format("{} is {}: it is not replaced",
                            path.string(),
                            S_ISDIR(existing.st_mode) ? "a directory" : "not a regular file"));
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::string beside;
  {
    const Descriptor file = create_beside(path, mode, beside);
    if (file.get() < 0) {
      return system_failure("create a file beside", path);
    }
    if (!write_all(file.get(), content) || ::fsync(file.get()) != 0) {
      auto failure = system_failure("write", path);
      ::unlink(beside.c_str());
      return failure;
    }
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) {
    auto failure = system_failure("replace", path);
    ::unlink(beside.c_str());
    return failure;
  }
  const Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) {
    ::fsync(parent.get());
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return system_failure("open", path);
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) {
    return system_failure("inspect", path);
  }
  if (!S_ISREG(status.st_mode)) {
    return invalid_input(fmt::format("{} is not a regular file", path.string()));
  }
  if (static_cast<std::size_t>(status.st_size) > kMaxFileBytes) {
    return invalid_input(fmt::format(
        "{} has {} bytes; at most {} are read", path.string(), status.st_size, kMaxFileBytes));
  }
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return system_failure("read", path);
    }
    if (got == 0) {
      break;
    }
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
}

Result<void> write_file(const std::filesystem::path& named, std::string_view content) {
  return write_with_mode(named, content, 0666);
}

Result<void> write_private_file(const std::filesystem::path& named, std::string_view content) {
  return write_with_mode(named, content, 0600);
}

}  // namespace carpool
