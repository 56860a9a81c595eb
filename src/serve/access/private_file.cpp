#include "serve/access/private_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/process/descriptor.hpp"
#include "serve/caller.hpp"

namespace carpool::serve {
namespace {

constexpr off_t kLargestSecret = off_t{1} << 20U;

tl::unexpected<Error> not_opened(const std::filesystem::path& file) {
  if (errno == ELOOP) {
    return invalid_input(fmt::format("{} is a symbolic link; name the file itself", file.string()));
  }
  return fail(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Internal,
              fmt::format("open {}: {}", file.string(), last_error()));
}

}  // namespace

// Checked on the opened file: a name could stand for another file in the next moment.
Result<std::string> read_private_file(const std::filesystem::path& file,
                                      std::string_view secret,
                                      Links links) {
  const int follow = links == Links::Refused ? O_NOFOLLOW : 0;
  const Descriptor opened(
      ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow));
  if (!opened.valid()) {
    return not_opened(file);
  }
  struct stat status{};
  if (::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size > kLargestSecret) {
    return invalid_input(
        fmt::format("{} is not a regular file of at most {} bytes", file.string(), kLargestSecret));
  }
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return invalid_input(fmt::format(
        "{} belongs to user {}, who could change {}; run `chown` on it to make it yours",
        file.string(),
        user_name(status.st_uid),
        secret));
  }
  if ((status.st_mode & 077U) != 0) {
    return invalid_input(
        fmt::format("{}: other users may read {}; run `chmod 600` on it", file.string(), secret));
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t got = ::pread(opened.get(), text.data(), text.size(), 0);
  if (got < 0) {
    return fail(ErrorCode::Internal, fmt::format("read {}: {}", file.string(), last_error()));
  }
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace carpool::serve
